{{/*
Names, labels and images. "A component" below is a key of the values: devicePlugin, gfd, mps or configManager; templates
about one take (list ROOT COMPONENT).
*/}}

{{- define "gpusuite.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The release's base name, as the original makes it: the plugin's DaemonSet must keep its name across an upgrade. */}}
{{- define "gpusuite.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "gpusuite.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{/*
What tells the components apart. `suffix` ends object names: two of them differ from the original's, whose selectors
overlap with the plugin's and cannot be changed in place. `offset` is added to `metrics.port`.
*/}}
{{- define "gpusuite.component" -}}
{{- $root := index . 0 -}}
{{- $components := dict
  "devicePlugin" (dict "suffix" "" "image" "nvidia-device-plugin" "app" (include "gpusuite.name" $root) "offset" 0)
  "gfd" (dict "suffix" "gfd" "image" "gpu-feature-discovery" "app" ($root.Values.gfd.nameOverride | default "gpu-feature-discovery") "offset" 1)
  "gfdFinder" (dict "suffix" "gfd-finder" "image" "gpu-feature-discovery" "app" (printf "%s-finder" ($root.Values.gfd.nameOverride | default "gpu-feature-discovery") | trunc 63 | trimSuffix "-") "offset" 1)
  "mps" (dict "suffix" "mps" "image" "mps-control-daemon" "app" "mps-control-daemon" "offset" 2)
  "configManager" (dict "suffix" "config" "image" "gpu-config-manager" "app" "gpu-config-manager" "offset" 3)
-}}
{{- get $components (index . 1) | toJson -}}
{{- end -}}

{{/* The object name of a component; short enough even with a suffix. */}}
{{- define "gpusuite.componentName" -}}
{{- $suffix := (include "gpusuite.component" . | fromJson).suffix -}}
{{- include "gpusuite.suffixed" (list (index . 0) $suffix) -}}
{{- end -}}

{{/* (list ROOT SUFFIX): the full name and the suffix in at most 63 characters. The full name is what gives way. */}}
{{- define "gpusuite.suffixed" -}}
{{- $suffix := index . 1 -}}
{{- $full := include "gpusuite.fullname" (index . 0) -}}
{{- if $suffix -}}
{{- printf "%s-%s" (trunc (sub 62 (len $suffix) | int) $full | trimSuffix "-") $suffix -}}
{{- else -}}
{{- $full -}}
{{- end -}}
{{- end -}}

{{- define "gpusuite.port" -}}
{{- add (index . 0).Values.metrics.port (include "gpusuite.component" . | fromJson).offset -}}
{{- end -}}

{{/* Labels of objects that belong to the release as a whole. */}}
{{- define "gpusuite.labels" -}}
app.kubernetes.io/name: {{ include "gpusuite.name" . }}
{{ include "gpusuite.releaseLabels" . }}
{{- end -}}

{{- define "gpusuite.releaseLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: k8s-gpu-suite
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* Labels of a component's own objects. */}}
{{- define "gpusuite.componentLabels" -}}
app.kubernetes.io/name: {{ (include "gpusuite.component" . | fromJson).app }}
{{ include "gpusuite.releaseLabels" (index . 0) }}
{{- end -}}

{{/*
Labels that select a component's pods. selectorLabelsOverride concerns the plugin alone: pods of other components that
bore those labels would be selected by the plugin's DaemonSet.
*/}}
{{- define "gpusuite.selectorLabels" -}}
{{- $root := index . 0 -}}
{{- if and (eq (index . 1) "devicePlugin") $root.Values.selectorLabelsOverride -}}
{{- toYaml $root.Values.selectorLabelsOverride -}}
{{- else -}}
app.kubernetes.io/name: {{ (include "gpusuite.component" . | fromJson).app }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
{{- end -}}
{{- end -}}

{{- define "gpusuite.podLabels" -}}
{{- $root := index . 0 -}}
{{- $component := include "gpusuite.component" . | fromJson -}}
{{- $labels := dict
  "app.kubernetes.io/name" $component.app
  "app.kubernetes.io/instance" $root.Release.Name
  "app.kubernetes.io/part-of" "k8s-gpu-suite"
-}}
{{- $selector := include "gpusuite.selectorLabels" . | fromYaml -}}
{{- mergeOverwrite (dict) ((get $root.Values (index . 1)).podLabels | default dict) $labels $selector | toYaml -}}
{{- end -}}

{{/* What the image of a component is called. A digest among the values for all would name one image by another's. */}}
{{- define "gpusuite.image" -}}
{{- $root := index . 0 -}}
{{- $own := (get $root.Values (index . 1)).image | default dict -}}
{{- $name := (include "gpusuite.component" . | fromJson).image -}}
{{- $repository := $own.repository | default $root.Values.image.repository -}}
{{- if not $repository -}}
{{- fail "\nimage.repository is not set, and there is no registry that everybody could pull these images from.\nBuild them with `make images`, push them, and set image.repository=REGISTRY/nvidia-device-plugin." -}}
{{- end -}}
{{- /* NVIDIA's image holds none of these programs: under our commands and probes it would be killed again and again. */ -}}
{{- if or (regexMatch "(^|/)k8s-device-plugin(@.*)?$" $repository) (hasPrefix "nvcr.io/nvidia/gpu-feature-discovery" $repository) -}}
{{- fail (printf "\n%s names %s, which is NVIDIA's image, or a mirror of it, and does not hold these programs.\nSet image.repository=REGISTRY/nvidia-device-plugin and image.tag to what `make images` has built and you have pushed." (ternary (printf "%s.image.repository" (index . 1)) "image.repository" (not (empty $own.repository))) $repository) -}}
{{- end -}}
{{- if and (ne (index . 1) "devicePlugin") (not $own.repository) -}}
{{- $repository = regexReplaceAll "[^/]+$" $repository $name -}}
{{- end -}}
{{- $tag := $own.tag | default $root.Values.image.tag | default (printf "v%s" $root.Chart.AppVersion) -}}
{{- $shared := printf "%s:%s" (ternary "" $root.Values.image.repository (not (empty $own.repository))) (ternary "" $root.Values.image.tag (not (empty $own.tag))) -}}
{{- if and (ne (index . 1) "devicePlugin") (not $own.digest) (contains "@" $shared) -}}
{{- fail (printf "\nimage.repository and image.tag hold a digest, which is that of the plugin's image, but %s is needed as well.\nGive each its own: devicePlugin.image.digest, %s.image.digest and so on, and no digest in `image`." $name (index . 1)) -}}
{{- end -}}
{{- if $own.digest -}}
{{- printf "%s@%s" $repository $own.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository $tag -}}
{{- end -}}
{{- end -}}

{{- define "gpusuite.pullPolicy" -}}
{{- ((get (index . 0).Values (index . 1)).image | default dict).pullPolicy | default (index . 0).Values.image.pullPolicy -}}
{{- end -}}

{{- define "gpusuite.serviceAccountName" -}}
{{- $root := index . 0 -}}
{{- $root.Values.serviceAccount.name | default (printf "%s-service-account" (include "gpusuite.componentName" .)) -}}
{{- end -}}
