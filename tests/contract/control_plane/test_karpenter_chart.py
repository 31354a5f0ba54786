"""What Karpenter's chart says it may do is read without Helm."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.control_plane import karpenter_chart
from tools.control_plane.programs import NoControlPlane

ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ include "karpenter.fullname" . }}-core
roleRef:
  kind: ClusterRole
---
kind: ClusterRole
metadata:
  labels:
    {{- include "karpenter.labels" . | nindent 4 }}
rules:
  # Read
  - apiGroups: [""]
    resources: ["pods"]
    verbs: ["get"]
  {{- with .Values.additionalClusterRoleRules -}}
  {{ toYaml . | nindent 2 }}
  {{- end -}}
"""


def test_rules_are_those_of_the_roles_without_what_is_templated(tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    chart.mkdir()
    (chart / "clusterrole.yaml").write_text(ROLE)
    (chart / "deployment.yaml").write_text("{{ nothing: for us")
    assert karpenter_chart.rules(tmp_path) == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]


def test_a_chart_without_rights_is_named(tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    chart.mkdir()
    (chart / "deployment.yaml").write_text("{{ nothing }}")
    with pytest.raises(NoControlPlane, match="no rights"):
        karpenter_chart.rules(tmp_path)


def test_files_that_are_missing_are_named(tmp_path: Path) -> None:
    with pytest.raises(NoControlPlane, match="chart is missing or empty"):
        karpenter_chart.rules(tmp_path)
