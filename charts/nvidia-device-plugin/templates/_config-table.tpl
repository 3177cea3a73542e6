{{/* Generated from the config model by `make config-docs`: keys and words of a config file, as JSON. */}}
{{- define "gpusuite.configTable" -}}
{
 "keys": {
  "version": {
   "is": "a word",
   "null": true,
   "words": [
    "v1",
    ""
   ]
  },
  "flags": {
   "keys": {
    "migStrategy": {
     "is": "a word",
     "null": true,
     "words": [
      "none",
      "single",
      "mixed"
     ]
    },
    "failOnInitError": {
     "is": "true or false",
     "null": true
    },
    "mpsRoot": {
     "is": "text",
     "null": true
    },
    "nvidiaDriverRoot": {
     "is": "text",
     "null": true
    },
    "nvidiaDevRoot": {
     "is": "text",
     "null": true
    },
    "driverLibraryPath": {
     "is": "text",
     "null": true
    },
    "gdrcopyEnabled": {
     "is": "true or false",
     "null": true
    },
    "gdsEnabled": {
     "is": "true or false",
     "null": true
    },
    "mofedEnabled": {
     "is": "true or false",
     "null": true
    },
    "useNodeFeatureAPI": {
     "is": "true or false",
     "null": true
    },
    "deviceDiscoveryStrategy": {
     "is": "a word",
     "null": true,
     "words": [
      "auto",
      "nvml",
      "tegra",
      "vfio"
     ]
    },
    "customResources": {
     "is": "true or false",
     "null": true
    },
    "plugin": {
     "keys": {
      "passDeviceSpecs": {
       "is": "true or false",
       "null": true
      },
      "deviceListStrategy": {
       "is": "a word or a list of words",
       "null": true,
       "words": [
        "envvar",
        "volume-mounts",
        "cdi-annotations",
        "cdi-cri"
       ]
      },
      "deviceIDStrategy": {
       "is": "a word",
       "null": true,
       "words": [
        "uuid",
        "index"
       ]
      },
      "cdiAnnotationPrefix": {
       "is": "text",
       "null": true
      },
      "nvidiaCTKPath": {
       "is": "text",
       "null": true
      },
      "containerDriverRoot": {
       "is": "text",
       "null": true
      },
      "sharedDevicesAllocationPolicy": {
       "is": "a word",
       "null": true,
       "words": [
        "distributed",
        "packed"
       ]
      },
      "cdiExtraNames": {
       "is": "true or false",
       "null": true
      },
      "rescanInterval": {
       "is": "a duration such as 60s",
       "null": true,
       "pattern": "^(infinite|[-+]?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+))$"
      }
     },
     "null": true
    },
    "gfd": {
     "keys": {
      "oneshot": {
       "is": "true or false",
       "null": true
      },
      "noTimestamp": {
       "is": "true or false",
       "null": true
      },
      "sleepInterval": {
       "is": "a duration such as 60s",
       "null": true,
       "pattern": "^(infinite|[-+]?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+))$"
      },
      "outputFile": {
       "is": "text",
       "null": true
      },
      "machineTypeFile": {
       "is": "text",
       "null": true
      },
      "extraLabels": {
       "is": "a word",
       "null": true,
       "words": [
        "auto",
        "all",
        "none"
       ]
      }
     },
     "null": true
    }
   },
   "null": true
  },
  "resources": {
   "keys": {
    "gpus": {
     "entries": {
      "keys": {
       "pattern": {
        "is": "text",
        "null": true
       },
       "name": {
        "is": "text",
        "null": false,
        "pattern": "^(nvidia[.]com/)?[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
       },
       "allocationPolicy": {
        "is": "a word",
        "null": true,
        "words": [
         "distributed",
         "packed"
        ]
       }
      },
      "exact": true,
      "needs": [
       "pattern",
       "name"
      ]
     },
     "null": true
    },
    "mig": {
     "entries": {
      "keys": {
       "pattern": {
        "is": "text",
        "null": true
       },
       "name": {
        "is": "text",
        "null": false,
        "pattern": "^(nvidia[.]com/)?[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
       },
       "allocationPolicy": {
        "is": "a word",
        "null": true,
        "words": [
         "distributed",
         "packed"
        ]
       }
      },
      "exact": true,
      "needs": [
       "pattern",
       "name"
      ]
     },
     "null": true
    }
   },
   "null": true
  },
  "sharing": {
   "keys": {
    "timeSlicing": {
     "keys": {
      "renameByDefault": {
       "is": "true or false",
       "null": true
      },
      "failRequestsGreaterThanOne": {
       "is": "true or false",
       "null": true
      },
      "resources": {
       "entries": {
        "keys": {
         "name": {
          "is": "text",
          "null": false,
          "pattern": "^(nvidia[.]com/)?[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
         },
         "replicas": {
          "is": "a whole number",
          "null": false,
          "least": 1
         },
         "rename": {
          "is": "text",
          "null": false,
          "pattern": "^(nvidia[.]com/)?[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
         },
         "devices": {
          "is": "`all`, a count or a list of devices",
          "null": false
         },
         "allocationPolicy": {
          "is": "a word",
          "null": true,
          "words": [
           "distributed",
           "packed"
          ]
         },
         "memoryLimitMiB": {
          "is": "a whole number",
          "null": true,
          "least": 0
         },
         "memoryFactor": {
          "is": "a number",
          "null": true
         },
         "activeThreadPercentage": {
          "is": "a number",
          "null": true,
          "least": 0
         }
        },
        "exact": true,
        "needs": [
         "name",
         "replicas"
        ]
       },
       "null": false
      }
     },
     "exact": true,
     "needs": [
      "resources"
     ],
     "null": false
    },
    "mps": {
     "keys": {
      "renameByDefault": {
       "is": "true or false",
       "null": true
      },
      "failRequestsGreaterThanOne": {
       "is": "true or false",
       "null": true
      },
      "resources": {
       "entries": {
        "keys": {
         "name": {
          "is": "text",
          "null": false,
          "pattern": "^(nvidia[.]com/)?[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
         },
         "replicas": {
          "is": "a whole number",
          "null": false,
          "least": 1
         },
         "rename": {
          "is": "text",
          "null": false,
          "pattern": "^(nvidia[.]com/)?[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
         },
         "devices": {
          "is": "`all`, a count or a list of devices",
          "null": false
         },
         "allocationPolicy": {
          "is": "a word",
          "null": true,
          "words": [
           "distributed",
           "packed"
          ]
         },
         "memoryLimitMiB": {
          "is": "a whole number",
          "null": true,
          "least": 0
         },
         "memoryFactor": {
          "is": "a number",
          "null": true
         },
         "activeThreadPercentage": {
          "is": "a number",
          "null": true,
          "least": 0
         }
        },
        "exact": true,
        "needs": [
         "name",
         "replicas"
        ]
       },
       "null": false
      }
     },
     "exact": true,
     "needs": [
      "resources"
     ],
     "null": true
    }
   },
   "null": true
  },
  "imex": {
   "keys": {
    "channelIDs": {
     "is": "a list of whole numbers",
     "null": true
    },
    "required": {
     "is": "true or false",
     "null": true
    }
   },
   "null": true
  },
  "devices": {
   "keys": {
    "include": {
     "is": "a list of texts",
     "null": true
    },
    "exclude": {
     "is": "a list of texts",
     "null": true
    }
   },
   "null": true
  },
  "health": {
   "keys": {
    "xidPolicy": {
     "is": "a word",
     "null": true,
     "words": [
      "original",
      "catalogue"
     ]
    },
    "ignoredXIDs": {
     "is": "a list of whole numbers",
     "null": true
    },
    "fatalXIDs": {
     "is": "a list of whole numbers",
     "null": true
    },
    "probeInterval": {
     "is": "a duration such as 60s",
     "null": true,
     "pattern": "^(infinite|[-+]?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+))$"
    },
    "recovery": {
     "is": "a word",
     "null": true,
     "words": [
      "driver",
      "probe",
      "off"
     ]
    },
    "recoveryQuietTime": {
     "is": "a duration such as 60s",
     "null": true,
     "pattern": "^(infinite|[-+]?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+))$"
    }
   },
   "null": true
  }
 }
}
{{- end -}}
