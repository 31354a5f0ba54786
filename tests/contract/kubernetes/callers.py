"""Who asks: service accounts with a token, and programs that hand tokens out."""

from __future__ import annotations

import json
from pathlib import Path

from dovetail.api.kinds import ROLE_BINDINGS, ROLES
from dovetail.kube.client import Client
from dovetail.kube.exec_plugin import GROUP

PLUGIN = """#!/bin/sh
number=$(( $(cat {runs} 2>/dev/null || echo 0) + 1 ))
echo $number > {runs}
sed "s/EXPIRES/$(date -u -d "+$number hours" +%Y-%m-%dT%H:%M:%SZ)/" {directory}/answer-$number
"""


def plugin(directory: Path, version: str, *tokens: str) -> str:
    """A program that hands out one token after the other, the nth for n hours, and counts its `runs`."""
    for number, token in enumerate(tokens, 1):
        status = {"token": token, "expirationTimestamp": "EXPIRES"}
        answer = {"apiVersion": f"{GROUP}/{version}", "kind": "ExecCredential", "status": status}
        (directory / f"answer-{number}").write_text(json.dumps(answer), encoding="utf-8")
    program = directory / "plugin"
    program.write_text(PLUGIN.format(runs=directory / "runs", directory=directory), encoding="utf-8")
    program.chmod(0o700)
    return str(program)


async def token_of(client: Client, namespace: str) -> str:
    """A token of the namespace's service account, which may do nothing yet on a server with RBAC."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/default/token"
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
    return str(json.loads(await client.raw("POST", path, body=json.dumps(asked).encode()))["status"]["token"])


async def allow_reading(client: Client, namespace: str) -> None:
    """Let the namespace's service account follow its config maps."""
    about = {"apiVersion": ROLES.api_version, "metadata": {"name": "reader"}}
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}
    await client.create(ROLES, {**about, "kind": ROLES.name, "rules": [rule]}, namespace)
    bound = {
        "roleRef": {"apiGroup": ROLES.group, "kind": ROLES.name, "name": "reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}],
    }
    await client.create(ROLE_BINDINGS, {**about, "kind": ROLE_BINDINGS.name, **bound}, namespace)
