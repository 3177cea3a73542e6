{{/* Generated from values.yaml by `make manifests`. All defaults, as JSON. */}}
{{- define "gpusuite.defaults" -}}
{
  "config": {
    "name": "",
    "map": {},
    "default": "",
    "fallbackStrategies": [
      "named",
      "single"
    ],
    "assume": {
      "mig": null,
      "volumeMounts": null,
      "cdi": null,
      "mps": null,
      "featureFile": null
    }
  },
  "compatWithCPUManager": null,
  "migStrategy": null,
  "failOnInitError": null,
  "deviceListStrategy": null,
  "deviceIDStrategy": null,
  "nvidiaDriverRoot": null,
  "driverLibraryPath": null,
  "nvidiaDevRoot": null,
  "gdrcopyEnabled": null,
  "gdsEnabled": null,
  "mofedEnabled": null,
  "deviceDiscoveryStrategy": null,
  "noTimestamp": null,
  "sleepInterval": null,
  "configStrict": null,
  "logLevel": null,
  "logFormat": null,
  "simulatedNode": null,
  "cdi": {
    "nvidiaHookPath": null,
    "featureFlags": null
  },
  "nameOverride": "",
  "fullnameOverride": "",
  "namespaceOverride": "",
  "selectorLabelsOverride": {},
  "allowDefaultNamespace": false,
  "image": {
    "repository": "",
    "tag": "",
    "pullPolicy": "IfNotPresent"
  },
  "imagePullSecrets": [],
  "updateStrategy": {
    "type": "RollingUpdate"
  },
  "podAnnotations": {},
  "podSecurityContext": {},
  "securityContext": {},
  "resources": {},
  "nodeSelector": {},
  "affinity": {
    "nodeAffinity": {
      "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [
          {
            "matchExpressions": [
              {
                "key": "feature.node.kubernetes.io/pci-10de.present",
                "operator": "In",
                "values": [
                  "true"
                ]
              }
            ]
          },
          {
            "matchExpressions": [
              {
                "key": "feature.node.kubernetes.io/cpu-model.vendor_id",
                "operator": "In",
                "values": [
                  "NVIDIA"
                ]
              }
            ]
          },
          {
            "matchExpressions": [
              {
                "key": "nvidia.com/gpu.present",
                "operator": "In",
                "values": [
                  "true"
                ]
              }
            ]
          }
        ]
      }
    }
  },
  "tolerations": [
    {
      "key": "CriticalAddonsOnly",
      "operator": "Exists"
    },
    {
      "key": "nvidia.com/gpu",
      "operator": "Exists",
      "effect": "NoSchedule"
    }
  ],
  "priorityClassName": "system-node-critical",
  "runtimeClassName": null,
  "devicePlugin": {
    "enabled": true,
    "podResources": false,
    "xidPolicy": null,
    "nodeEvents": false,
    "nodeCondition": "",
    "removeTaint": "",
    "enableHostNetwork": false,
    "image": {},
    "imagePullSecrets": [],
    "podSecurityContext": null,
    "runtimeClassName": null,
    "resources": null,
    "nodeSelector": null,
    "affinity": null,
    "tolerations": null,
    "priorityClassName": null,
    "updateStrategy": null,
    "podAnnotations": {},
    "podLabels": {},
    "env": [],
    "securityContext": null
  },
  "gfd": {
    "enabled": false,
    "output": null,
    "vgpuDetection": true,
    "nameOverride": "gpu-feature-discovery",
    "namespaceOverride": "",
    "noTimestamp": null,
    "sleepInterval": null,
    "enableHostNetwork": false,
    "image": {},
    "imagePullSecrets": [],
    "podSecurityContext": null,
    "runtimeClassName": null,
    "resources": null,
    "nodeSelector": null,
    "affinity": null,
    "tolerations": null,
    "priorityClassName": null,
    "updateStrategy": null,
    "podAnnotations": {},
    "podLabels": {},
    "env": [],
    "securityContext": null
  },
  "mps": {
    "enabled": null,
    "root": "/run/nvidia/mps",
    "enableHostPID": true,
    "enableHostNetwork": false,
    "image": {},
    "imagePullSecrets": [],
    "podSecurityContext": null,
    "runtimeClassName": null,
    "resources": null,
    "nodeSelector": null,
    "affinity": null,
    "tolerations": null,
    "priorityClassName": null,
    "updateStrategy": null,
    "podAnnotations": {},
    "podLabels": {},
    "env": [],
    "securityContext": null
  },
  "configManager": {
    "mode": "sidecar",
    "sendSignal": false,
    "nodeEvents": false,
    "hostPath": "",
    "enableHostNetwork": false,
    "image": {},
    "imagePullSecrets": [],
    "podSecurityContext": null,
    "runtimeClassName": null,
    "resources": null,
    "nodeSelector": null,
    "affinity": null,
    "tolerations": null,
    "priorityClassName": null,
    "updateStrategy": null,
    "podAnnotations": {},
    "podLabels": {},
    "env": [],
    "securityContext": null
  },
  "kubeletRootDir": "/var/lib/kubelet",
  "serviceAccount": {
    "create": true,
    "name": "",
    "annotations": {}
  },
  "rbac": {
    "create": true
  },
  "runtimeClass": {
    "create": false,
    "handler": "nvidia"
  },
  "metrics": {
    "enabled": true,
    "port": 9480,
    "host": "",
    "podMonitor": {
      "enabled": false,
      "labels": {},
      "interval": ""
    },
    "serviceMonitor": {
      "enabled": false,
      "labels": {},
      "interval": ""
    }
  },
  "probes": {
    "liveness": {
      "initialDelaySeconds": 10,
      "periodSeconds": 20,
      "timeoutSeconds": 5,
      "failureThreshold": 6
    },
    "readiness": {
      "periodSeconds": 10,
      "timeoutSeconds": 5
    }
  },
  "networkPolicy": {
    "enabled": false,
    "from": [],
    "apiServerPorts": [
      443,
      6443
    ]
  },
  "nfd": {
    "enabled": null,
    "nameOverride": "node-feature-discovery",
    "master": {
      "serviceAccount": {
        "name": "node-feature-discovery",
        "create": true
      },
      "config": {
        "extraLabelNs": [
          "nvidia.com"
        ]
      }
    },
    "worker": {
      "tolerations": [
        {
          "key": "node-role.kubernetes.io/master",
          "operator": "Equal",
          "value": "",
          "effect": "NoSchedule"
        },
        {
          "key": "nvidia.com/gpu",
          "operator": "Equal",
          "value": "present",
          "effect": "NoSchedule"
        }
      ],
      "config": {
        "sources": {
          "pci": {
            "deviceClassWhitelist": [
              "02",
              "03"
            ],
            "deviceLabelFields": [
              "vendor"
            ]
          }
        }
      }
    }
  }
}
{{- end -}}

{{/* From values.schema.json: the values that templates cannot do without, groups first, as JSON. */}}
{{- define "gpusuite.needed" -}}
[
  "config",
  "config.fallbackStrategies",
  "config.assume",
  "cdi",
  "allowDefaultNamespace",
  "image",
  "devicePlugin",
  "devicePlugin.enabled",
  "devicePlugin.podResources",
  "devicePlugin.nodeEvents",
  "devicePlugin.enableHostNetwork",
  "gfd",
  "gfd.enabled",
  "gfd.vgpuDetection",
  "gfd.enableHostNetwork",
  "mps",
  "mps.root",
  "mps.enableHostPID",
  "mps.enableHostNetwork",
  "configManager",
  "configManager.mode",
  "configManager.sendSignal",
  "configManager.nodeEvents",
  "configManager.enableHostNetwork",
  "kubeletRootDir",
  "serviceAccount",
  "serviceAccount.create",
  "rbac",
  "rbac.create",
  "runtimeClass",
  "runtimeClass.create",
  "runtimeClass.handler",
  "metrics",
  "metrics.enabled",
  "metrics.port",
  "metrics.podMonitor",
  "metrics.podMonitor.enabled",
  "metrics.serviceMonitor",
  "metrics.serviceMonitor.enabled",
  "probes",
  "networkPolicy",
  "networkPolicy.enabled",
  "nfd"
]
{{- end -}}
