{{/*
Who may do what: service accounts of the installed components, and the API rights that each needs.
*/}}

{{/* The installed components as {"components": [...]}. */}}
{{- define "gpusuite.installed" -}}
{{- $installed := list -}}
{{- if .Values.devicePlugin.enabled }}{{ $installed = append $installed "devicePlugin" }}{{ end -}}
{{- if .Values.gfd.enabled }}{{ $installed = append $installed "gfd" }}{{ end -}}
{{- if and .Values.gfd.enabled (eq (include "gpusuite.gfdNeedsFinder" .) "true") }}{{ $installed = append $installed "gfdFinder" }}{{ end -}}
{{- if eq (include "gpusuite.mpsEnabled" .) "true" }}{{ $installed = append $installed "mps" }}{{ end -}}
{{- if eq (include "gpusuite.configMode" .) "daemonset" }}{{ $installed = append $installed "configManager" }}{{ end -}}
{{- dict "components" $installed | toJson -}}
{{- end -}}

{{/* (list ROOT COMPONENTS) → a list of subjects, each account once. */}}
{{- define "gpusuite.subjects" -}}
{{- $root := index . 0 -}}
{{- $accounts := list -}}
{{- range index . 1 }}{{ $accounts = append $accounts (include "gpusuite.serviceAccountName" (list $root .)) }}{{ end -}}
{{- range uniq $accounts }}
- kind: ServiceAccount
  name: {{ . }}
  namespace: {{ include "gpusuite.namespace" $root }}
{{- end -}}
{{- end -}}

{{/* The components whose pods report Events: the plugin about GPUs, pods with a config manager about configs. */}}
{{- define "gpusuite.eventReporters" -}}
{{- $root := . -}}
{{- $reporters := list -}}
{{- range (include "gpusuite.installed" . | fromJson).components -}}
{{- $gpus := and (eq . "devicePlugin") $root.Values.devicePlugin.nodeEvents -}}
{{- $configs := and $root.Values.configManager.nodeEvents (or (eq (include "gpusuite.hasSidecar" (list $root .)) "true") (eq . "configManager")) -}}
{{- if or $gpus $configs }}{{ $reporters = append $reporters . }}{{ end -}}
{{- end -}}
{{- dict "components" $reporters | toJson -}}
{{- end -}}

{{/* The components that write node labels. */}}
{{- define "gpusuite.labellers" -}}
{{- $labellers := list -}}
{{- range (include "gpusuite.installed" . | fromJson).components -}}
{{- if hasPrefix "gfd" . }}{{ $labellers = append $labellers . }}{{ end -}}
{{- end -}}
{{- dict "components" $labellers | toJson -}}
{{- end -}}

{{/* The components that read their Node: those with a config manager, and the plugin where it reports about the Node. */}}
{{- define "gpusuite.nodeReaders" -}}
{{- $root := . -}}
{{- $readers := list -}}
{{- range (include "gpusuite.installed" . | fromJson).components -}}
{{- $self := list $root . -}}
{{- $reports := and (eq . "devicePlugin") (eq (include "gpusuite.usesApi" $self) "true") -}}
{{- if or $reports (eq . "configManager") (eq (include "gpusuite.hasSidecar" $self) "true") }}{{ $readers = append $readers . }}{{ end -}}
{{- end -}}
{{- dict "components" $readers | toJson -}}
{{- end -}}
