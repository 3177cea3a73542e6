{{/*
Whether the configs in `config.map` can be what their writers meant, by the table of keys and words in `_config-table.tpl`.
What values may stand beside each other is for the programs to say.
*/}}

{{/*
(list NAME TEXT) → {"wrong": [...], "unknown": [...]}: what no program would take, each as a sentence, and the paths of keys
that no program knows.
*/}}
{{- define "gpusuite.faultsOfConfig" -}}
{{- $faults := dict "wrong" list "unknown" list -}}
{{- $config := index . 1 | default "" | fromYaml -}}
{{- range splitList "\n" (include "gpusuite.faults" (list $config (include "gpusuite.configTable" $ | fromJson) "")) -}}
{{- $kind := splitList " " . | first -}}
{{- if $kind }}{{ $_ := set $faults $kind (append (get $faults $kind) (trimPrefix (printf "%s " $kind) .)) }}{{ end -}}
{{- end -}}
{{- toJson $faults -}}
{{- end -}}

{{/* (list VALUE TABLE PATH) → a line for each fault: `unknown PATH`, or `wrong` and a sentence. */}}
{{- define "gpusuite.faults" -}}
{{- $value := index . 0 -}}
{{- $table := index . 1 -}}
{{- $path := index . 2 -}}
{{- if kindIs "invalid" $value -}}
{{- if and $path (not $table.null) }}{{ printf "wrong %s is empty\n" $path }}{{ end -}}
{{- else if hasKey $table "keys" -}}
{{- include "gpusuite.faultsOfMapping" . -}}
{{- else if hasKey $table "entries" -}}
{{- if not (kindIs "slice" $value) -}}
{{- printf "wrong %s is %s, but takes a list\n" $path (include "gpusuite.shown" $value) -}}
{{- else if and (empty $value) (not $table.null) -}}
{{- printf "wrong %s is empty\n" $path -}}
{{- end -}}
{{- range $index, $entry := ternary $value list (kindIs "slice" $value) -}}
{{- include "gpusuite.faults" (list $entry $table.entries (printf "%s[%d]" $path $index)) -}}
{{- end -}}
{{- else -}}
{{- include "gpusuite.faultsOfValue" . -}}
{{- end -}}
{{- end -}}

{{- define "gpusuite.faultsOfMapping" -}}
{{- $value := index . 0 -}}
{{- $table := index . 1 -}}
{{- $path := index . 2 -}}
{{- if not (kindIs "map" $value) -}}
{{- printf "wrong %s is %s, but takes the keys %s\n" $path (include "gpusuite.shown" $value) (keys $table.keys | sortAlpha | join ", ") -}}
{{- else -}}
{{- $present := list -}}
{{- $unknown := list -}}
{{- range $name, $inner := $value -}}
{{- $known := "" -}}
{{- range $key, $_ := $table.keys -}}
{{- if or (eq $key $name) (and (not $table.exact) (eq (lower $key) (lower $name))) }}{{ $known = $key }}{{ end -}}
{{- end -}}
{{- $place := printf "%s.%s" $path $name | trimPrefix "." -}}
{{- if $known -}}
{{- $present = append $present $known -}}
{{- include "gpusuite.faults" (list $inner (get $table.keys $known) $place) -}}
{{- else -}}
{{- $unknown = append $unknown $name -}}
{{- printf "unknown %s\n" $place -}}
{{- end -}}
{{- end -}}
{{- range $table.needs | default list -}}
{{- if not (has . $present) -}}
{{- printf "wrong %s lacks the key %s%s\n" $path . (ternary "" (printf ", and has %s, which is no key" (join ", " $unknown)) (empty $unknown)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "gpusuite.faultsOfValue" -}}
{{- $value := index . 0 -}}
{{- $table := index . 1 -}}
{{- $path := index . 2 -}}
{{- $whole := eq (include "gpusuite.isWhole" $value) "true" -}}
{{- $text := kindIs "string" $value -}}
{{- $list := ternary $value list (kindIs "slice" $value) -}}
{{- $fits := false -}}
{{- if eq $table.is "text" -}}
{{- $fits = $text -}}
{{- else if eq $table.is "true or false" -}}
{{- $fits = kindIs "bool" $value -}}
{{- else if eq $table.is "a whole number" -}}
{{- $fits = $whole -}}
{{- else if eq $table.is "a number" -}}
{{- $fits = has (kindOf $value) (list "float64" "int64" "int") -}}
{{- else if eq $table.is "a duration such as 60s" -}}
{{- $fits = or $text (has (kindOf $value) (list "float64" "int64" "int")) -}}
{{- else if eq $table.is "a word" -}}
{{- $fits = $text -}}
{{- else -}}
{{- $fits = kindIs "slice" $value -}}
{{- range $list -}}
{{- $ok := kindIs "string" . -}}
{{- if eq $table.is "a list of whole numbers" }}{{ $ok = or (kindIs "invalid" .) (eq (include "gpusuite.isWhole" .) "true") -}}
{{- else if eq $table.is "a list of texts" }}{{ $ok = or $ok (eq (include "gpusuite.isWhole" .) "true") -}}
{{- else if eq $table.is "`all`, a count or a list of devices" }}{{ $ok = or $ok (kindIs "invalid" .) (eq (include "gpusuite.isWhole" .) "true") -}}
{{- end -}}
{{- $fits = and $fits $ok -}}
{{- end -}}
{{- if eq $table.is "a word or a list of words" }}{{ $fits = or $fits $text }}{{ end -}}
{{- if eq $table.is "`all`, a count or a list of devices" }}{{ $fits = or $fits $whole (eq (toString $value) "all") }}{{ end -}}
{{- end -}}
{{- if not $fits -}}
{{- $hint := ternary "; remove the quotes" "" (and $text (regexMatch "^([0-9]+|true|false)$" (toString $value)) (not (hasKey $table "words"))) -}}
{{- printf "wrong %s is %s, but takes %s%s\n" $path (include "gpusuite.shown" $value) $table.is $hint -}}
{{- else -}}
{{- range ternary $list (list $value) (kindIs "slice" $value) -}}
{{- if and (hasKey $table "words") (not (has . $table.words)) -}}
{{- printf "wrong %s is %s, which is none of %s\n" $path (include "gpusuite.shown" .) (without $table.words "" | join ", ") -}}
{{- end -}}
{{- end -}}
{{- if and $text (hasKey $table "pattern") (not (regexMatch $table.pattern $value)) -}}
{{- printf "wrong %s is %s, which is no %s\n" $path (include "gpusuite.shown" $value) (ternary "name of a resource" "duration such as 60s" (eq $table.is "text")) -}}
{{- end -}}
{{- if and (not $text) (hasKey $table "least") (lt (float64 $value) (float64 $table.least)) -}}
{{- printf "wrong %s is %s, but takes %v at least\n" $path (include "gpusuite.shown" $value) $table.least -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "gpusuite.isWhole" -}}
{{- if has (kindOf .) (list "float64" "int64" "int") }}{{ eq (float64 .) (floor .) }}{{ else }}false{{ end -}}
{{- end -}}

{{/* A value as somebody may have written it, not too long. */}}
{{- define "gpusuite.shown" -}}
{{- toJson . | trunc 60 -}}
{{- end -}}
