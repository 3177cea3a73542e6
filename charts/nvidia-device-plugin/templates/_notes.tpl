{{/*
What the notes say about the values that were given.
*/}}

{{/*
The given values without effect, joined by commas: those that only older releases of the original's charts knew, and those
of NFD where it is not packaged. Each kind of word that is no longer obeyed is in the schema too, so that it is accepted.
*/}}
{{- define "gpusuite.withoutEffect" -}}
{{- $found := list -}}
{{- $old := list "legacyDaemonsetAPI" "node-feature-discovery" "devicePlugin.mode" -}}
{{- range list "namespaceOverride" "fullnameOverride" "selectorLabelsOverride" "allowDefaultNamespace" "failOnInitError" "migStrategy" "nfd" -}}
{{- $old = append $old (printf "gfd.%s" .) -}}
{{- end -}}
{{- range $old -}}
{{- $value := $.Values -}}
{{- range splitList "." . }}{{ $value = get $value . }}{{ end -}}
{{- if $value }}{{ $found = append $found . }}{{ end -}}
{{- end -}}
{{- if not (hasKey .Subcharts "nfd") -}}
{{- $defaults := (include "gpusuite.defaults" . | fromJson).nfd -}}
{{- range $key, $value := omit .Values.nfd "enabled" "global" -}}
{{- $obeyed := and (eq $key "enableNodeFeatureApi") (eq (include "gpusuite.nfdPresent" $) "true") -}}
{{- if and $value (not $obeyed) (ne (toJson $value) (get $defaults $key | toJson)) }}{{ $found = append $found (printf "nfd.%s" $key) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- join ", " $found -}}
{{- end -}}

{{/* The values that place pods by labels of NFD, other than the default affinity, joined by commas. */}}
{{- define "gpusuite.waitsForNfd" -}}
{{- $found := list -}}
{{- range $path := list "nodeSelector" "affinity" "devicePlugin.nodeSelector" "devicePlugin.affinity" "gfd.nodeSelector" "gfd.affinity" -}}
{{- $value := $.Values -}}
{{- range splitList "." $path }}{{ $value = get $value . }}{{ end -}}
{{- $text := toJson $value -}}
{{- if and (contains "feature.node.kubernetes.io/" $text) (ne $text (include "gpusuite.defaultAffinity" $)) }}{{ $found = append $found $path }}{{ end -}}
{{- end -}}
{{- join ", " $found -}}
{{- end -}}

{{/*
The values with an image's tag that is a release of the original's, joined by commas: left over where only the repository
was changed. Its last releases have numbers that are far ahead of ours.
*/}}
{{- define "gpusuite.theirTags" -}}
{{- $found := list -}}
{{- range $path := list "image" "devicePlugin.image" "gfd.image" "mps.image" "configManager.image" -}}
{{- $value := $.Values -}}
{{- range splitList "." $path }}{{ $value = get $value . }}{{ end -}}
{{- $tag := toString (get ($value | default dict) "tag") -}}
{{- if and (regexMatch "^v?0[.](1[2-9]|20)[.][0-9]" $tag) (not (hasPrefix (printf "v%s" $.Chart.AppVersion) $tag)) -}}
{{- $found = append $found (printf "%s.tag (%s)" $path $tag) -}}
{{- end -}}
{{- end -}}
{{- join ", " $found -}}
{{- end -}}

{{/* The values with memory limits below what these programs need, joined by commas. */}}
{{- define "gpusuite.tooLittleMemory" -}}
{{- $found := list -}}
{{- range $path := list "resources" "devicePlugin.resources" "gfd.resources" "mps.resources" "configManager.resources" -}}
{{- $value := $.Values -}}
{{- range splitList "." $path }}{{ $value = get $value . }}{{ end -}}
{{- $limit := toString (dig "limits" "memory" "" ($value | default dict)) -}}
{{- $unit := get (dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824) (regexFind "[A-Za-z]+$" $limit) -}}
{{- if and $unit (regexMatch "^[0-9.]+" $limit) (lt (mulf (regexFind "^[0-9.]+" $limit | float64) $unit) 125829120.0) -}}
{{- $found = append $found (printf "%s.limits.memory (%s)" $path $limit) -}}
{{- end -}}
{{- end -}}
{{- join ", " $found -}}
{{- end -}}
