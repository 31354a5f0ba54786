"""Amazon Linux 2: a script that calls the image's bootstrap.sh, after whatever the user runs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Final

from dovetail.clouds.aws.bootstrap import flags
from dovetail.clouds.aws.bootstrap.boot import Boot
from dovetail.clouds.aws.bootstrap.mime import SHELL, Part, is_multipart, joined, parts

_HEAD: Final = (
    "#!/bin/bash -xe",
    "exec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1",
)


def user_data(boot: Boot) -> str:
    return joined((*_users(boot.custom), Part(SHELL, _script(boot))))


def _users(text: str) -> tuple[Part, ...]:
    if not text.strip():
        return ()
    return parts(text) if is_multipart(text) else (Part(SHELL, text),)


def _script(boot: Boot) -> str:
    return "\n".join((*_HEAD, " \\\n".join(_call(boot))))


def _call(boot: Boot) -> Iterator[str]:
    home = boot.home
    authority = f" --b64-cluster-ca {shlex.quote(home.authority)}" if home.authority else ""
    yield (
        f"/etc/eks/bootstrap.sh {shlex.quote(home.name)} --apiserver-endpoint {shlex.quote(home.endpoint)}{authority}"
    )
    if boot.name_servers:
        yield f"--dns-cluster-ip {shlex.quote(boot.name_servers[0])}"
    if home.is_ipv6:
        yield "--ip-family ipv6"
    if boot.max_pods is not None:
        yield "--use-max-pods false"
    if boot.raid0:
        yield "--local-disks raid0"
    yield f"--kubelet-extra-args {shlex.quote(' '.join(flags.of(boot)))}"
