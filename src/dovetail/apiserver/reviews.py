"""Questions about who somebody is and what they may do. Whoever has the token may do everything, and is told so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dovetail.apiserver import errors

USER: Final = {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]}
_AUTHENTICATION: Final = "authentication.k8s.io"
_AUTHORIZATION: Final = "authorization.k8s.io"
#: Plural, kind, whether it is asked within a namespace.
GROUPS: Final[Mapping[str, tuple[tuple[str, str, bool], ...]]] = {
    _AUTHENTICATION: (
        ("selfsubjectreviews", "SelfSubjectReview", False),
        ("tokenreviews", "TokenReview", False),
    ),
    _AUTHORIZATION: (
        ("selfsubjectaccessreviews", "SelfSubjectAccessReview", False),
        ("selfsubjectrulesreviews", "SelfSubjectRulesReview", False),
        ("subjectaccessreviews", "SubjectAccessReview", False),
        ("localsubjectaccessreviews", "LocalSubjectAccessReview", True),
    ),
}


def listed(group: str, version: str) -> list[dict[str, Any]]:
    return [
        {"name": plural, "singularName": kind.lower(), "namespaced": namespaced, "kind": kind, "verbs": ["create"]}
        for plural, kind, namespaced in GROUPS.get(group, ())
    ]


def aggregated(group: str, version: str) -> list[dict[str, Any]]:
    return [
        {
            "resource": plural,
            "responseKind": {"group": group, "version": version, "kind": kind},
            "scope": "Namespaced" if namespaced else "Cluster",
            "singularResource": kind.lower(),
            "verbs": ["create"],
        }
        for plural, kind, namespaced in GROUPS.get(group, ())
    ]


def is_asked(group: str, rest: list[str]) -> bool:
    return any(plural == rest[-1] for plural, _, _ in GROUPS.get(group, ()))


def answer(plural: str, asked: dict[str, Any], knows_token: bool) -> dict[str, Any]:
    """The review with its status filled in. `knows_token` says whether a reviewed token is one of ours."""
    match plural:
        case "selfsubjectreviews":
            return asked | {"status": {"userInfo": USER}}
        case "tokenreviews":
            return asked | {
                "status": {"authenticated": True, "user": USER} if knows_token else {"authenticated": False}
            }
        case "selfsubjectrulesreviews":
            every = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
            paths = {"verbs": ["*"], "nonResourceURLs": ["*"]}
            status = {"resourceRules": [every], "nonResourceRules": [paths], "incomplete": False}
            return asked | {"status": status}
        case "selfsubjectaccessreviews" | "subjectaccessreviews" | "localsubjectaccessreviews":
            return asked | {"status": {"allowed": True, "reason": "whoever has the token may do everything"}}
    raise errors.nothing_served()
