{{- define "sluicegate.labels" -}}
app.kubernetes.io/name: sluicegate
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: sluicegate
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* Labels that select pods: (list . "operator"). */}}
{{- define "sluicegate.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: sluicegate
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* The first variables of every policy. */}}
{{- define "sluicegate.caller" -}}
- name: caller
  expression: request.userInfo.username
- name: home
  expression: "'{{ .Release.Namespace }}'"
- name: isOperator
  expression: variables.caller == 'system:serviceaccount:' + variables.home + ':sluicegate-operator'
- name: isCollector
  expression: variables.caller in {{ .Values.policies.collectors | toJson | replace "\"" "'" }}
- name: isTrusted
  expression: variables.isOperator || variables.isCollector
{{- end }}

{{/* What to do instead of writing what the control loop writes; a CEL string. */}}
{{- define "sluicegate.instead" -}}
'; hint: apply an AgentWorkflow, or decide with a Decision (promote, abort, approve…)'
{{- end }}

{{/* The binding of a policy: (list . name). */}}
{{- define "sluicegate.binding" -}}
{{- $root := index . 0 -}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ index . 1 }}
  labels: {{- include "sluicegate.labels" $root | nindent 4 }}
spec:
  policyName: {{ index . 1 }}
  validationActions: [Deny]
{{- end }}

{{/* Container image. */}}
{{- define "sluicegate.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}
