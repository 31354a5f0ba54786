"""The user of a kubeconfig: what credentials it means, and which it can no longer mean."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from dovetail.api.fields import Fields
from dovetail.kube.credentials import Anonymous, Credentials, FixedToken, TokenFile, usable
from dovetail.kube.exec_plugin import GROUP, VERSIONS, ExecPlugin, Plugin
from dovetail.kube.kubeconfig import Entry
from dovetail.kube.tls import Pem

_MODES: Final = ("Never", "IfAvailable", "Always")


@dataclass(frozen=True, slots=True)
class Identity:
    credentials: Credentials
    certificate: Pem | None = None
    key: Pem | None = None
    #: Headers that ask the server to act as somebody else; a name may come more than once.
    acting_as: tuple[tuple[str, str], ...] = field(default=(), repr=False)


def pem(entry: Entry, content: Fields, name: str) -> Pem | None:
    """`name-data`, or the file that `name` names; the data counts where both are given."""
    data = content.text(f"{name}-data")
    if data:
        try:
            return Pem(base64.b64decode(data, validate=False))
        except (binascii.Error, ValueError):
            raise content.bad(f"{name}-data", "is not base64") from None
    written = content.text(name)
    if not written:
        return None
    path = entry.beside(written)
    try:
        path.read_bytes()
    except OSError as problem:
        raise content.bad(name, f"{path} cannot be read: {problem.strerror or problem}") from None
    return Pem(path=path)


def identity(user: Entry, cluster: Mapping[str, Any], environment: Mapping[str, str]) -> Identity:
    """`cluster` is what an exec plugin is told where it wants to know."""
    with user.located() as content:
        _refuse_what_is_gone(content)
        certificate, key = pem(user, content, "client-certificate"), pem(user, content, "client-key")
        if (certificate is None) != (key is None):
            missing = "client-key" if key is None else "client-certificate"
            raise content.bad(missing, "is missing; a certificate and its key go together")
        return Identity(_credentials(user, content, cluster, environment), certificate, key, _acting_as(content))


def _refuse_what_is_gone(content: Fields) -> None:
    for name in ("username", "password"):
        if content.has(name):
            raise content.bad(
                name, "API servers no longer take passwords; use a token, a certificate or an exec plugin"
            )
    provider = content.map("auth-provider")
    if content.has("auth-provider"):
        named = provider.text("name") or "without a name"
        raise content.bad(
            "auth-provider", f"{named}: auth providers are gone from Kubernetes; use the exec plugin that replaced it"
        )


def _credentials(
    user: Entry, content: Fields, cluster: Mapping[str, Any], environment: Mapping[str, str]
) -> Credentials:
    token = content.text("token") or ""
    if not usable(token):
        raise content.bad("token", "holds characters that no header can hold")
    if written := content.text("tokenFile"):
        path = user.beside(written)
        if not token and not path.is_file():
            raise content.bad("tokenFile", f"there is no file {path}")
        return TokenFile(path, otherwise=token)
    if token:
        return FixedToken(token)
    if content.has("exec"):
        return ExecPlugin(_plugin(content.map("exec"), user.file.parent, cluster, environment))
    return Anonymous()


def _plugin(wire: Fields, beside: Path, cluster: Mapping[str, Any], environment: Mapping[str, str]) -> Plugin:
    version = wire.required("apiVersion")
    if version not in VERSIONS:
        raise wire.bad("apiVersion", f"{version[:80]} is not understood; use {' or '.join(VERSIONS)}")
    mode = wire.text("interactiveMode") or "IfAvailable"
    if mode not in _MODES:
        raise wire.bad("interactiveMode", f"{mode[:80]} is none of {', '.join(_MODES)}")
    command = wire.required("command")
    # A bare name is looked up in PATH; anything with a slash is a file, seen from the kubeconfig.
    command = str((beside / command).absolute()) if "/" in command else command
    return Plugin(
        command=command,
        api_version=version,
        args=_texts(wire, "args"),
        env={**environment, **{one.required("name"): one.text("value") or "" for one in wire.items("env")}},
        install_hint=wire.text("installHint") or "",
        interactive_mode=mode,
        cluster=cluster if wire.flag("provideClusterInfo") else None,
    )


def _texts(wire: Fields, name: str) -> tuple[str, ...]:
    value = wire.wire.get(name)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise wire.bad(name, "expected a list of texts")
    return tuple(value)


def _acting_as(content: Fields) -> tuple[tuple[str, str], ...]:
    user = content.text("as") or ""
    headers = [("Impersonate-User", user)] if user else []
    if uid := content.text("as-uid"):
        headers.append(("Impersonate-Uid", uid))
    headers.extend(("Impersonate-Group", group) for group in _texts(content, "as-groups"))
    extra = content.map("as-user-extra")
    for key in extra.wire:
        headers.extend((f"Impersonate-Extra-{quote(key.lower(), safe='')}", one) for one in _texts(extra, key))
    if headers and not user:
        raise content.bad("as", "is missing; groups, uid and extra are those of a user")
    for name, value in headers:
        if not value.isprintable():
            raise content.bad("as", f"{name} holds characters that no header can hold")
    return tuple(headers)


def cluster_info(content: Fields, authority: Pem | None) -> dict[str, Any]:
    """The cluster as an exec plugin is told of it."""
    known = ("server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url", "disable-compression")
    told: dict[str, Any] = {name: content.wire[name] for name in known if content.has(name)}
    if authority is not None:
        told["certificate-authority-data"] = base64.b64encode(authority.read()).decode()
    for extension in content.items("extensions"):
        if extension.text("name") == f"{GROUP}/exec":
            told["config"] = extension.wire.get("extension")
    return told
