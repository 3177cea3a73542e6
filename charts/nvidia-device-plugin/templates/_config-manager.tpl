{{/*
The config manager in other pods: containers, mounts and volumes that carry the chosen config file to a program.
All take (list ROOT COMPONENT …).
*/}}

{{/* (list ROOT COMPONENT ROLE), ROLE one of init, sidecar, daemon: one config-manager container. */}}
{{- define "gpusuite.configManagerContainer" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- $role := index . 2 -}}
{{- $manager := list $root "configManager" -}}
{{- $signal := and (eq $role "sidecar") $root.Values.configManager.sendSignal -}}
{{- $program := get (dict "devicePlugin" "nvidia-device-plugin" "gfd" "gpu-feature-discovery" "mps" "mps-control-daemon" "configManager" "gpu-config-manager") $component -}}
- name: {{ printf "%s-%s" $program (ternary "ctr" $role (eq $role "daemon")) }}
  image: {{ include "gpusuite.image" $manager }}
  imagePullPolicy: {{ include "gpusuite.pullPolicy" $manager }}
  command: ["config-manager"]
  env:
    {{- include "gpusuite.env" (list $root "configManager" (list
      (list "ONESHOT" (eq $role "init"))
      (include "gpusuite.fieldVariable" (list "NODE_NAME" "spec.nodeName") | fromJson)
      (list "NODE_LABEL" "nvidia.com/device-plugin.config")
      (list "CONFIG_FILE_SRCDIR" "/available-configs")
      (list "CONFIG_FILE_DST" "/config/config.yaml")
      (list "DEFAULT_CONFIG" $root.Values.config.default)
      (list "FALLBACK_STRATEGIES" $root.Values.config.fallbackStrategies)
      (list "SEND_SIGNAL" $signal)
      (list "SIGNAL" (ternary "1" nil $signal))
      (list "PROCESS_TO_SIGNAL" (ternary $program nil $signal))
      (list "NODE_EVENTS" (ternary true nil $root.Values.configManager.nodeEvents))
      (list "LOG_LEVEL" $root.Values.logLevel)
      (list "LOG_FORMAT" $root.Values.logFormat)
      (ternary (include "gpusuite.hostIp" $manager | fromJson) dict (eq $role "daemon"))
      (list "METRICS_ADDRESS" (ternary (include "gpusuite.metricsAddress" $manager) nil (eq $role "daemon")))
    )) | nindent 4 }}
  securityContext:
    {{- include "gpusuite.configManagerContext" . | nindent 4 }}
  {{- with include "gpusuite.resources" $manager }}
  resources:
    {{- . | nindent 4 }}
  {{- end }}
  {{- if eq $role "daemon" }}
  {{- with include "gpusuite.healthEndpoints" $manager }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- end }}
  volumeMounts:
    - name: available-configs
      mountPath: /available-configs
      readOnly: true
    - name: config
      mountPath: /config
{{- end -}}

{{/* Mounts of the program itself: the link, and what it points into. */}}
{{- define "gpusuite.configMounts" -}}
{{- if include "gpusuite.configMode" (index . 0) -}}
- name: available-configs
  mountPath: /available-configs
  readOnly: true
- name: config
  mountPath: /config
  readOnly: true
{{- end -}}
{{- end -}}

{{/*
Volumes for them. In mode `daemonset` the directory must exist before a program's pod starts: `Directory` makes the
kubelet wait for the config manager, which alone creates it.
*/}}
{{- define "gpusuite.configVolumes" -}}
{{- $root := index . 0 -}}
{{- $mode := include "gpusuite.configMode" $root -}}
{{- if $mode -}}
- name: available-configs
  configMap:
    name: {{ include "gpusuite.configMapName" $root }}
- name: config
  {{- if eq $mode "daemonset" }}
  hostPath:
    path: {{ include "gpusuite.configHostPath" $root }}
    type: {{ ternary "DirectoryOrCreate" "Directory" (eq (index . 1) "configManager") }}
  {{- else }}
  emptyDir: {}
  {{- end }}
{{- end -}}
{{- end -}}

{{/* Whether a config manager runs beside the program: nobody chooses configs for those who only look for GPUs. */}}
{{- define "gpusuite.hasSidecar" -}}
{{- and (eq (include "gpusuite.configMode" (index . 0)) "sidecar") (not (has (index . 1) (list "gfdFinder" "configManager"))) -}}
{{- end -}}

{{/* Whether the pod's containers must see each other's processes. */}}
{{- define "gpusuite.sharesProcesses" -}}
{{- and (eq (include "gpusuite.configMode" .) "sidecar") .Values.configManager.sendSignal -}}
{{- end -}}
