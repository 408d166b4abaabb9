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

{{/* What all pods have in common: (list . "operator" component-values). */}}
{{- define "sluicegate.pod" -}}
{{- $root := index . 0 -}}
{{- $values := index . 2 -}}
serviceAccountName: sluicegate-{{ index . 1 }}
terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- with $root.Values.image.pullSecrets }}
imagePullSecrets: {{- range . }}
- name: {{ . }}
{{- end }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations: {{- toYaml . | nindent 0 }}
{{- end }}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels: {{- include "sluicegate.selector" (list $root (index . 1)) | nindent 12 }}
{{- end }}

{{/* What all containers have in common: (list . component-values), and the module that runs unless it is the operator's. */}}
{{- define "sluicegate.container" -}}
{{- $root := index . 0 -}}
image: {{ include "sluicegate.image" $root }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
command: [python, -m, {{ if gt (len .) 2 }}{{ index . 2 }}{{ else }}sluicegate.operator{{ end }}]
env:
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: POD_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
- name: POD_UID
  valueFrom: {fieldRef: {fieldPath: metadata.uid}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
resources: {{- toYaml (index . 1).resources | nindent 2 }}
volumeMounts:
- {name: tmp, mountPath: /tmp}
{{- end }}

{{/* Probes of a port: (list "port name" "HTTP"). */}}
{{- define "sluicegate.probes" -}}
livenessProbe:
  httpGet: {path: /healthz, port: {{ index . 0 }}, scheme: {{ index . 1 }}}
  periodSeconds: 10
  timeoutSeconds: 3
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: {{ index . 0 }}, scheme: {{ index . 1 }}}
  periodSeconds: 5
  timeoutSeconds: 3
startupProbe:
  httpGet: {path: /healthz, port: {{ index . 0 }}, scheme: {{ index . 1 }}}
  periodSeconds: 2
  failureThreshold: 60
{{- end }}

{{/* Where evidence is asked for and runs are sent. */}}
{{- define "sluicegate.lineageUrl" -}}
{{- if .Values.lineage.url -}}
{{ .Values.lineage.url }}
{{- else -}}
{{ ternary "https" "http" (not (empty .Values.lineage.tlsSecret)) }}://sluicegate-lineage.{{ .Release.Namespace }}.svc:8090
{{- end -}}
{{- end }}

{{/* A volume with the lineage process's authority, for those who call it. */}}
{{- define "sluicegate.lineageCa" -}}
{{- with .Values.lineage.caConfigMap }}
- name: lineage-ca
  configMap: {name: {{ . }}}
{{- end }}
{{- end }}

{{/* Namespaces that have gateways of their own, or the release's: JSON. */}}
{{- define "sluicegate.gatewayNamespaces" -}}
{{ .Values.gateway.namespaces | default (list .Release.Namespace) | toJson }}
{{- end }}

{{/* Roles of one account: (list . "operator" namespaces rules). A ClusterRole, bound in the namespaces; everywhere when there are none. */}}
{{- define "sluicegate.bound" -}}
{{- $root := index . 0 -}}
{{- $account := index . 1 -}}
{{- $home := index . 2 -}}
{{- $namespaces := index . 3 -}}
{{- $role := index . 4 -}}
{{- if $namespaces }}
{{- range $namespaces }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $role }}{{ if ne $home $root.Release.Namespace }}-{{ $home }}{{ end }}
  namespace: {{ . }}
  labels: {{- include "sluicegate.labels" $root | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {{ $role }}}
subjects:
- {kind: ServiceAccount, name: {{ $account }}, namespace: {{ $home }}}
{{- end }}
{{- else }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $role }}{{ if ne $home $root.Release.Namespace }}-{{ $home }}{{ end }}
  labels: {{- include "sluicegate.labels" $root | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {{ $role }}}
subjects:
- {kind: ServiceAccount, name: {{ $account }}, namespace: {{ $home }}}
{{- end }}
{{- end }}
