{{/*
Security contexts of containers: what the user says, else the least that the configs need.
*/}}

{{/* (list CAPABILITIES…): no right but these. */}}
{{- define "gpusuite.confined" -}}
{{- if . -}}
capabilities:
  drop: ["ALL"]
  add: {{ toJson . }}
{{- else -}}
allowPrivilegeEscalation: false
capabilities:
  drop: ["ALL"]
{{- end }}
readOnlyRootFilesystem: true
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "gpusuite.rootContext" -}}
runAsUser: 0
{{ include "gpusuite.confined" . }}
{{- end -}}

{{- define "gpusuite.nonRootContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
{{ include "gpusuite.confined" (list) }}
{{- end -}}

{{- define "gpusuite.privilegedContext" -}}
runAsUser: 0
privileged: true
readOnlyRootFilesystem: true
{{- end -}}

{{/*
The plugin is root for the kubelet's sockets. SYS_ADMIN lets it watch the MIG instances of all GPUs, and is what
container runtimes ask of a pod that names devices by volume mounts.
*/}}
{{- define "gpusuite.devicePluginContext" -}}
{{- $facts := include "gpusuite.facts" . | fromJson -}}
{{- if .Values.devicePlugin.securityContext -}}
{{- toYaml .Values.devicePlugin.securityContext -}}
{{- else if .Values.securityContext -}}
{{- toYaml .Values.securityContext -}}
{{- else if .Values.compatWithCPUManager -}}
{{- include "gpusuite.privilegedContext" . -}}
{{- else if and (or $facts.mig $facts.volumeMounts) (not .Values.simulatedNode) -}}
{{- include "gpusuite.rootContext" (list "SYS_ADMIN") -}}
{{- else -}}
{{- include "gpusuite.rootContext" (list) -}}
{{- end -}}
{{- end -}}

{{/*
gpu-feature-discovery needs SYS_ADMIN to read PCI configuration space beyond its first 64 bytes, where the vGPU record
is, and for MIG; it is root for that, or to write into NFD's directory.
*/}}
{{- define "gpusuite.gfdContext" -}}
{{- $facts := include "gpusuite.facts" . | fromJson -}}
{{- if .Values.gfd.securityContext -}}
{{- toYaml .Values.gfd.securityContext -}}
{{- else if and (or $facts.mig .Values.gfd.vgpuDetection) (not .Values.simulatedNode) -}}
{{- include "gpusuite.rootContext" (list "SYS_ADMIN") -}}
{{- else if $facts.featureFile -}}
{{- include "gpusuite.rootContext" (list) -}}
{{- else -}}
{{- include "gpusuite.nonRootContext" . -}}
{{- end -}}
{{- end -}}

{{- define "gpusuite.gfdFinderContext" -}}
{{- include "gpusuite.nonRootContext" . -}}
{{- end -}}

{{- define "gpusuite.mpsContext" -}}
{{- if .Values.mps.securityContext -}}
{{- toYaml .Values.mps.securityContext -}}
{{- else -}}
{{- include "gpusuite.privilegedContext" . -}}
{{- end -}}
{{- end -}}

{{/* (list ROOT COMPONENT): the context of a component's main container. */}}
{{- define "gpusuite.securityContext" -}}
{{- include (printf "gpusuite.%sContext" (index . 1)) (index . 0) -}}
{{- end -}}

{{/*
(list ROOT COMPONENT ROLE): the context of a config manager: `init` or `sidecar` in COMPONENT's pod, or a `daemon`,
which is root for its directory on the host. Signals cross the borders that AppArmor and SELinux draw only between
equals, so that a sidecar which sends them runs as the program it signals does.
*/}}
{{- define "gpusuite.configManagerContext" -}}
{{- $root := index . 0 -}}
{{- $role := index . 2 -}}
{{- if $root.Values.configManager.securityContext -}}
{{- toYaml $root.Values.configManager.securityContext -}}
{{- else if eq $role "daemon" -}}
{{- include "gpusuite.rootContext" (list) -}}
{{- else if and (eq $role "sidecar") $root.Values.configManager.sendSignal -}}
{{- include "gpusuite.securityContext" (list $root (index . 1)) | fromYaml | mergeOverwrite (dict "runAsUser" 0) | toYaml -}}
{{- else -}}
{{- include "gpusuite.nonRootContext" $root -}}
{{- end -}}
{{- end -}}
