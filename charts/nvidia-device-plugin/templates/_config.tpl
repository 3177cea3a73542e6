{{/*
What the configs may ask for, found by reading all of them. Privileges and host paths follow from it.
*/}}

{{- define "gpusuite.configMapName" -}}
{{- if .Values.config.name -}}
{{- .Values.config.name -}}
{{- else if .Values.config.map -}}
{{- include "gpusuite.suffixed" (list . "configs") -}}
{{- end -}}
{{- end -}}

{{/* (list MAP KEY) → {"value": the entry}, or {} without one. The config file's keys are not case-sensitive. */}}
{{- define "gpusuite.entry" -}}
{{- $key := index . 1 | lower -}}
{{- $found := dict -}}
{{- if kindIs "map" (index . 0) -}}
{{- range $name, $value := index . 0 -}}
{{- if eq (lower $name) $key }}{{ $_ := set $found "value" $value }}{{ end -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/* (list "one,two") or (list (list "one" "two")) → the words, joined by commas; empty when not given. */}}
{{- define "gpusuite.words" -}}
{{- $value := index . 0 -}}
{{- if kindIs "slice" $value -}}{{ join "," $value }}{{- else if kindIs "string" $value -}}{{ $value }}{{- end -}}
{{- end -}}

{{/* (list WORDS WORD) → "true" when WORD is one of the words joined by commas. */}}
{{- define "gpusuite.hasWord" -}}
{{- $wanted := index . 1 -}}
{{- $found := false -}}
{{- range splitList "," (index . 0) }}{{ if eq (trim .) $wanted }}{{ $found = true }}{{ end }}{{ end -}}
{{- $found -}}
{{- end -}}

{{/* A section of sharing → "true" when one of its entries shares something: one with a single replica counts as absent. */}}
{{- define "gpusuite.shares" -}}
{{- $found := false -}}
{{- if kindIs "map" . -}}
{{- if kindIs "slice" .resources -}}
{{- range .resources }}{{ if and (kindIs "map" .) (ne (toString .replicas) "1") }}{{ $found = true }}{{ end }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $found -}}
{{- end -}}

{{/* CONFIG, as a mapping → what it asks for: {"mig": …, …}. */}}
{{- define "gpusuite.factsOfConfig" -}}
{{- $config := . -}}
{{- $flags := (include "gpusuite.entry" (list $config "flags") | fromJson).value -}}
{{- $plugin := (include "gpusuite.entry" (list $flags "plugin") | fromJson).value -}}
{{- $sharing := (include "gpusuite.entry" (list $config "sharing") | fromJson).value -}}
{{- $mig := (include "gpusuite.entry" (list $flags "migStrategy") | fromJson).value -}}
{{- $api := (include "gpusuite.entry" (list $flags "useNodeFeatureAPI") | fromJson).value -}}
{{- $strategies := include "gpusuite.words" (list (include "gpusuite.entry" (list $plugin "deviceListStrategy") | fromJson).value) -}}
{{- dict
  "mig" (not (has $mig (list nil "" "none")))
  "volumeMounts" (eq "true" (include "gpusuite.hasWord" (list $strategies "volume-mounts")))
  "cdi" (contains "cdi-" $strategies)
  "mps" (eq "true" (include "gpusuite.shares" (include "gpusuite.entry" (list $sharing "mps") | fromJson).value))
  "featureFile" (and (kindIs "bool" $api) (not $api))
  | toJson -}}
{{- end -}}

{{/*
The facts about all configs together, as JSON. In order of rising precedence: any config in `config.map`, an existing
ConfigMap (which may hold anything), the value that overrides all configs, `config.assume`.
*/}}
{{- define "gpusuite.facts" -}}
{{- $values := .Values -}}
{{- $facts := dict "mig" false "volumeMounts" false "cdi" false "mps" false "featureFile" false -}}
{{- range $name, $text := $values.config.map -}}
{{- range $fact, $holds := include "gpusuite.factsOfConfig" ($text | default "" | fromYaml) | fromJson -}}
{{- if $holds }}{{ $_ := set $facts $fact true }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if $values.config.name -}}
{{- range $fact := keys $facts }}{{ $_ := set $facts $fact true }}{{ end -}}
{{- end -}}
{{- if $values.migStrategy -}}
{{- $_ := set $facts "mig" (ne $values.migStrategy "none") -}}
{{- end -}}
{{- $strategies := include "gpusuite.words" (list $values.deviceListStrategy) -}}
{{- if $strategies -}}
{{- $_ := set $facts "volumeMounts" (eq "true" (include "gpusuite.hasWord" (list $strategies "volume-mounts"))) -}}
{{- $_ := set $facts "cdi" (contains "cdi-" $strategies) -}}
{{- end -}}
{{- with include "gpusuite.gfdOutput" . -}}
{{- $_ := set $facts "featureFile" (eq . "file") -}}
{{- end -}}
{{- range $fact, $holds := $values.config.assume -}}
{{- if kindIs "bool" $holds }}{{ $_ := set $facts $fact $holds }}{{ end -}}
{{- end -}}
{{- toJson $facts -}}
{{- end -}}

{{/* Whether the MPS daemon is installed: `mps.enabled`, else with the plugin, save on simulated nodes. */}}
{{- define "gpusuite.mpsEnabled" -}}
{{- if kindIs "bool" .Values.mps.enabled -}}
{{- .Values.mps.enabled -}}
{{- else -}}
{{- and .Values.devicePlugin.enabled (not .Values.simulatedNode) -}}
{{- end -}}
{{- end -}}

{{/* Whether config files are chosen at all, and where: "", "sidecar" or "daemonset". */}}
{{- define "gpusuite.configMode" -}}
{{- if include "gpusuite.configMapName" . }}{{ .Values.configManager.mode }}{{ end -}}
{{- end -}}

{{- define "gpusuite.configHostPath" -}}
{{- .Values.configManager.hostPath | default (printf "/run/nvidia/%s-%s" (include "gpusuite.namespace" .) (include "gpusuite.fullname" .)) -}}
{{- end -}}
