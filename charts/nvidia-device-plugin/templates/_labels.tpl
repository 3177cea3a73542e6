{{/*
How node labels reach the node, and what follows from that. Without Node Feature Discovery, nobody but
gpu-feature-discovery finds the nodes with GPUs.
*/}}

{{/* Whether NFD is in the cluster: installed by itself, which `nfd.enabled: false` says, or by this chart. */}}
{{- define "gpusuite.nfdPresent" -}}
{{- or (hasKey .Subcharts "nfd") (eq (toString .Values.nfd.enabled) "false") -}}
{{- end -}}

{{/*
`nodeFeature`, `node` or `file`; empty where the configs decide. `nfd.enableNodeFeatureApi` is what the original had for
this until 0.18.
*/}}
{{- define "gpusuite.gfdOutput" -}}
{{- if .Values.gfd.output -}}
{{- .Values.gfd.output -}}
{{- else if ne (include "gpusuite.nfdPresent" .) "true" -}}
node
{{- else if kindIs "bool" .Values.nfd.enableNodeFeatureApi -}}
{{- ternary "nodeFeature" "file" .Values.nfd.enableNodeFeatureApi -}}
{{- end -}}
{{- end -}}

{{/* Whether gpu-feature-discovery looks for GPUs on every node, as NFD would. */}}
{{- define "gpusuite.gfdFindsNodes" -}}
{{- and (eq (include "gpusuite.gfdOutput" .) "node") (ne (include "gpusuite.nfdPresent" .) "true") (not .Values.simulatedNode) -}}
{{- end -}}

{{/*
Whether that takes pods of their own. With a RuntimeClass it does: a node without that runtime cannot start
gpu-feature-discovery, which cannot see the driver without it.
*/}}
{{- define "gpusuite.gfdNeedsFinder" -}}
{{- and (eq (include "gpusuite.gfdFindsNodes" .) "true") (ne (include "gpusuite.runtimeClass" (list . "gfd")) "") -}}
{{- end -}}

{{/* (list ROOT COMPONENT): whether these pods run on every Linux node. */}}
{{- define "gpusuite.everywhere" -}}
{{- $finder := include "gpusuite.gfdNeedsFinder" (index . 0) -}}
{{- $gfd := and (eq (index . 1) "gfd") (eq (include "gpusuite.gfdFindsNodes" (index . 0)) "true") (ne $finder "true") -}}
{{- or $gfd (eq (index . 1) "gfdFinder") -}}
{{- end -}}

{{/* (list AFFINITY): the same, on nodes that nobody has found to have a GPU. Terms are alternatives: each gets it. */}}
{{- define "gpusuite.unfoundNodes" -}}
{{- $unfound := dict "key" "nvidia.com/gpu.present" "operator" "NotIn" "values" (list "true") -}}
{{- $affinity := index . 0 | deepCopy -}}
{{- $required := dig "nodeAffinity" "requiredDuringSchedulingIgnoredDuringExecution" "nodeSelectorTerms" (list dict) $affinity -}}
{{- $terms := list -}}
{{- range $required -}}
{{- $terms = append $terms (set . "matchExpressions" (append (.matchExpressions | default list) $unfound)) -}}
{{- end -}}
{{- $node := set ($affinity.nodeAffinity | default dict) "requiredDuringSchedulingIgnoredDuringExecution" (dict "nodeSelectorTerms" $terms) -}}
{{- set $affinity "nodeAffinity" $node | toYaml -}}
{{- end -}}

{{- define "gpusuite.defaultAffinity" -}}
{{- (include "gpusuite.defaults" . | fromJson).affinity | toJson -}}
{{- end -}}
