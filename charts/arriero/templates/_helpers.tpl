{{/* Name of the objects in the release namespace. */}}
{{- define "arriero.name" -}}
{{- if contains "arriero" .Release.Name }}{{ .Release.Name | trunc 53 | trimSuffix "-" }}{{ else }}{{ printf "%s-arriero" (.Release.Name | trunc 45 | trimSuffix "-") }}{{ end -}}
{{- end }}

{{/* Name of the objects in other namespaces and at cluster level, where several releases may meet. */}}
{{- define "arriero.qualifiedName" -}}
{{ printf "%s-%s" .Release.Namespace (include "arriero.name" .) }}
{{- end }}

{{- define "arriero.selector" -}}
app.kubernetes.io/name: arriero-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "arriero.labels" -}}
{{ include "arriero.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* The operator's settings file; docs/contract.md says what each key means. Every profile has every key. */}}
{{- define "arriero.settings" -}}
{{- if not (hasKey .Values.profiles .Values.defaultProfile) }}
{{- fail (printf "defaultProfile: profiles has no %q; it has: %s" .Values.defaultProfile (keys .Values.profiles | sortAlpha | join ", ")) }}
{{- end }}
{{- $profiles := dict }}
{{- range $name, $profile := .Values.profiles }}
{{- $defaults := dict "imagePullPolicy" "IfNotPresent" "resources" dict "sharedMemory" "2Gi" "engine" dict "nodeSelector" dict "tolerations" list "runtimeClassName" "" }}
{{- $_ := set $profiles $name (merge (deepCopy $profile) $defaults) }}
{{- end }}
{{- $own := dict "namespaceSelector" (dict "matchLabels" (dict "kubernetes.io/metadata.name" .Release.Namespace)) "podSelector" (dict "matchLabels" (include "arriero.selector" . | fromYaml)) }}
{{- $network := merge (dict "operator" (list $own)) .Values.networkPolicies }}
{{- dict "operatorClass" .Values.operatorClass "policy" .Values.policy "reads" .Values.reads "changes" .Values.changes "networkPolicies" $network | toYaml }}
{{ dict "watchNamespaces" .Values.watchNamespaces "defaultProfile" .Values.defaultProfile "hub" .Values.hub "workers" .Values.workers "profiles" $profiles | toYaml }}
{{- end }}

{{/* What the operator may do in a namespace that it watches; docs/security.md says what each verb is for. */}}
{{- define "arriero.rules" -}}
- apiGroups: [arriero.dev]
  resources: [inferencemodels]
  verbs: [get, list, watch]
- apiGroups: [arriero.dev]
  resources: [inferencemodels/status]
  verbs: [patch]
- apiGroups: [apps]
  resources: [controllerrevisions]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get, list, watch, create, patch]
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [services]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, patch, delete]
- apiGroups: [""]
  resources: [events]
  verbs: [create, list]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [get, list, watch, create, patch]
{{- if .Values.reads.secrets }}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, list, watch]
{{- end }}
{{- end }}
