{{/*
Parts of pods that components have in common. All take (list ROOT COMPONENT) unless they say otherwise.
*/}}

{{/* (list VALUE-OF-COMPONENT VALUE-FOR-ALL): a component's own word counts even when it is empty. */}}
{{- define "gpusuite.ownOrCommon" -}}
{{- $chosen := ternary (index . 1) (index . 0) (kindIs "invalid" (index . 0)) -}}
{{- if $chosen }}{{ toYaml $chosen }}{{ end -}}
{{- end -}}

{{- define "gpusuite.daemonSetHead" -}}
{{- $root := index . 0 -}}
{{- $own := get $root.Values (index . 1) -}}
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ include "gpusuite.componentName" . }}
  namespace: {{ include "gpusuite.namespace" $root }}
  labels:
    {{- include "gpusuite.componentLabels" . | nindent 4 }}
spec:
  selector:
    matchLabels:
      {{- include "gpusuite.selectorLabels" . | nindent 6 }}
  {{- with include "gpusuite.ownOrCommon" (list $own.updateStrategy $root.Values.updateStrategy) }}
  updateStrategy:
    {{- . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- define "gpusuite.podMetadata" -}}
{{- $root := index . 0 -}}
{{- $own := get $root.Values (index . 1) -}}
labels:
  {{- include "gpusuite.podLabels" . | nindent 2 }}
{{- with mergeOverwrite (dict) ($root.Values.podAnnotations | default dict) ($own.podAnnotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Whether pods of the component talk to the API server, and so carry a token. */}}
{{- define "gpusuite.usesApi" -}}
{{- $root := index . 0 -}}
{{- $labels := and (hasPrefix "gfd" (index . 1)) (ne (include "gpusuite.gfdOutput" $root) "file") -}}
{{- $reports := and (eq (index . 1) "devicePlugin") (or $root.Values.devicePlugin.nodeEvents $root.Values.devicePlugin.nodeCondition $root.Values.devicePlugin.removeTaint) -}}
{{- or $labels (not (empty $reports)) (eq (index . 1) "configManager") (eq (include "gpusuite.configMode" $root) "sidecar") -}}
{{- end -}}

{{/* The RuntimeClass of the component's pods: those that read hardware have one, where it is named or created. */}}
{{- define "gpusuite.runtimeClass" -}}
{{- $values := (index . 0).Values -}}
{{- $common := $values.runtimeClassName | default (ternary "nvidia" "" $values.runtimeClass.create) -}}
{{- $common = ternary "" $common (or (eq (index . 1) "configManager") (not (empty $values.simulatedNode))) -}}
{{- if ne (index . 1) "gfdFinder" }}{{ (get $values (index . 1)).runtimeClassName | default $common }}{{ end -}}
{{- end -}}

{{/* Scheduling and identity: everything of a pod's spec that is not containers and volumes. */}}
{{- define "gpusuite.podSpec" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- $own := get $root.Values $name -}}
serviceAccountName: {{ include "gpusuite.serviceAccountName" . }}
automountServiceAccountToken: {{ include "gpusuite.usesApi" . }}
{{- with include "gpusuite.ownOrCommon" (list $own.priorityClassName $root.Values.priorityClassName) }}
priorityClassName: {{ . }}
{{- end }}
{{- with include "gpusuite.runtimeClass" . }}
runtimeClassName: {{ . }}
{{- end }}
{{- with concat ($root.Values.imagePullSecrets | default list) ($own.imagePullSecrets | default list) | uniq }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if include "gpusuite.hostNetwork" . }}
hostNetwork: true
dnsPolicy: ClusterFirstWithHostNet
{{- end }}
{{- with include "gpusuite.ownOrCommon" (list $own.podSecurityContext $root.Values.podSecurityContext) }}
securityContext:
  {{- . | nindent 2 }}
{{- end }}
{{- $selector := include "gpusuite.ownOrCommon" (list $own.nodeSelector $root.Values.nodeSelector) | fromYaml }}
{{- if and (eq $name "mps") (not $root.Values.simulatedNode) }}
{{- $_ := set $selector "nvidia.com/mps.capable" "true" }}
{{- end }}
{{- $everywhere := eq (include "gpusuite.everywhere" .) "true" }}
{{- /* Whoever sets a label cannot wait for it. */}}
{{- if $everywhere }}
{{- $selector = set (omit $selector "nvidia.com/gpu.present") "kubernetes.io/os" "linux" }}
{{- end }}
{{- with $selector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- $affinity := ternary dict $root.Values.affinity (not (empty $root.Values.simulatedNode)) }}
{{- $affinity = include "gpusuite.ownOrCommon" (list $own.affinity $affinity) | fromYaml }}
{{- /* The default one waits for labels as well. */}}
{{- if and $everywhere (eq (toJson $affinity) (include "gpusuite.defaultAffinity" $root)) }}{{ $affinity = dict }}{{ end }}
{{- if eq $name "gfdFinder" }}{{ $affinity = include "gpusuite.unfoundNodes" (list $affinity) | fromYaml }}{{ end }}
{{- with $affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with include "gpusuite.tolerations" . }}
tolerations:
  {{- . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* What the pods bear: what the user says, and the taint that is there until the plugin takes it off. */}}
{{- define "gpusuite.tolerations" -}}
{{- $root := index . 0 -}}
{{- $own := get $root.Values (index . 1) -}}
{{- $tolerations := include "gpusuite.ownOrCommon" (list $own.tolerations $root.Values.tolerations) | fromYamlArray -}}
{{- with include "gpusuite.startupTaint" $root -}}
{{- $tolerations = append $tolerations (dict "key" . "operator" "Exists") -}}
{{- end -}}
{{- if $tolerations }}{{ toYaml $tolerations }}{{ end -}}
{{- end -}}

{{/* The key of the taint that the plugin takes off its Node; empty for none. */}}
{{- define "gpusuite.startupTaint" -}}
{{- if .Values.devicePlugin.enabled }}{{ .Values.devicePlugin.removeTaint | default "" }}{{ end -}}
{{- end -}}

{{/* Requests that a node always has room for; limits far above what was measured. MPS servers share their pod's. */}}
{{- define "gpusuite.resources" -}}
{{- $root := index . 0 -}}
{{- $own := (get $root.Values (index . 1)).resources -}}
{{- $builtin := dict
  "devicePlugin" (dict "requests" (dict "cpu" "10m" "memory" "96Mi") "limits" (dict "memory" "512Mi"))
  "gfd" (dict "requests" (dict "cpu" "10m" "memory" "96Mi") "limits" (dict "memory" "512Mi"))
  "gfdFinder" (dict "requests" (dict "cpu" "10m" "memory" "96Mi") "limits" (dict "memory" "512Mi"))
  "mps" (dict "requests" (dict "cpu" "10m" "memory" "64Mi"))
  "configManager" (dict "requests" (dict "cpu" "5m" "memory" "64Mi") "limits" (dict "memory" "256Mi"))
-}}
{{- include "gpusuite.ownOrCommon" (list $own ($root.Values.resources | default (get $builtin (index . 1)))) -}}
{{- end -}}

{{/* Image, policy, security context and resources of a component's main container. */}}
{{- define "gpusuite.containerBasics" -}}
image: {{ include "gpusuite.image" . }}
imagePullPolicy: {{ include "gpusuite.pullPolicy" . }}
securityContext:
  {{- include "gpusuite.securityContext" . | nindent 2 }}
{{- with include "gpusuite.resources" . }}
resources:
  {{- . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "gpusuite.healthEndpoints" -}}
{{- $values := (index . 0).Values -}}
{{- if $values.metrics.enabled -}}
ports:
  - name: metrics
    containerPort: {{ include "gpusuite.port" . }}
{{- with $values.probes.liveness }}
livenessProbe:
  httpGet:
    path: /healthz
    port: metrics
    {{- include "gpusuite.probeHost" $ }}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.probes.readiness }}
readinessProbe:
  httpGet:
    path: /readyz
    port: metrics
    {{- include "gpusuite.probeHost" $ }}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
{{- end -}}

{{/*
(list ROOT COMPONENT ENTRIES): an `env` list. ENTRIES are (list NAME VALUE), left away when VALUE is null or empty, or
(dict "name" … "valueFrom" …). The user's variables follow, each in place of ours of that name.
*/}}
{{- define "gpusuite.env" -}}
{{- $root := index . 0 -}}
{{- $extra := (get $root.Values (index . 1)).env | default list -}}
{{- $taken := list -}}
{{- range $extra }}{{ $taken = append $taken .name }}{{ end -}}
{{- $env := list -}}
{{- range index . 2 -}}
{{- $entry := . -}}
{{- if kindIs "slice" . -}}
{{- $value := index . 1 -}}
{{- if kindIs "slice" $value }}{{ $value = join "," $value }}{{ end -}}
{{- $given := not (or (kindIs "invalid" $value) (and (kindIs "string" $value) (eq $value ""))) -}}
{{- $entry = ternary (dict "name" (index . 0) "value" (toString $value)) dict $given -}}
{{- end -}}
{{- if and $entry (not (has (get $entry "name") $taken)) }}{{ $env = append $env $entry }}{{ end -}}
{{- end -}}
{{- concat $env $extra | toYaml -}}
{{- end -}}

{{/* (list NAME FIELD): a variable that holds a field of the pod. */}}
{{- define "gpusuite.fieldVariable" -}}
{{- dict "name" (index . 0) "valueFrom" (dict "fieldRef" (dict "fieldPath" (index . 1))) | toJson -}}
{{- end -}}

{{- define "gpusuite.metricsAddress" -}}
{{- if (index . 0).Values.metrics.enabled -}}
{{- $host := include "gpusuite.metricsHost" . -}}
{{- printf "%s:%s" (ternary (printf "[%s]" $host) $host (or (contains ":" $host) (hasPrefix "$" $host))) (include "gpusuite.port" .) -}}
{{- end -}}
{{- end -}}

{{/*
Where a program listens: on all addresses of its pod; in the host's network, where these are the node's, on the one by which
the kubelet knows the pod, so that the probes go there by themselves.
*/}}
{{- define "gpusuite.metricsHost" -}}
{{- if include "gpusuite.hostNetwork" . }}{{ (index . 0).Values.metrics.host | default "$(HOST_IP)" }}{{ end -}}
{{- end -}}

{{- define "gpusuite.hostNetwork" -}}
{{- if (get (index . 0).Values (index . 1)).enableHostNetwork }}true{{ end -}}
{{- end -}}

{{/* HOST_IP as an entry of `gpusuite.env`, before the variable that refers to it; left away where nothing does. */}}
{{- define "gpusuite.hostIp" -}}
{{- if hasPrefix "[$" (include "gpusuite.metricsAddress" .) -}}
{{- include "gpusuite.fieldVariable" (list "HOST_IP" "status.hostIP") -}}
{{- else -}}
{{- dict | toJson -}}
{{- end -}}
{{- end -}}

{{/* The host that a probe asks, where it is not the pod itself. */}}
{{- define "gpusuite.probeHost" -}}
{{- $host := include "gpusuite.metricsHost" . -}}
{{- if not (or (hasPrefix "$" $host) (has $host (list "" "0.0.0.0" "::"))) }}
    host: {{ $host | quote }}
{{- end -}}
{{- end -}}
