"""Windows: PowerShell that calls the image's bootstrap script, after whatever the user runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from dovetail.clouds.aws.bootstrap import flags
from dovetail.clouds.aws.bootstrap.boot import Boot

_SCRIPT: Final = r"C:\Program Files\Amazon\EKS\Start-EKSBootstrap.ps1"
#: The user's own data may be wrapped as EC2 wants it, or bare.
_WRAPPED: Final = re.compile(r"\s*<powershell>(?P<body>.*)</powershell>\s*", re.DOTALL | re.IGNORECASE)


def user_data(boot: Boot) -> str:
    wrapped = _WRAPPED.fullmatch(boot.custom)
    own = (wrapped["body"] if wrapped else boot.custom).strip("\r\n")
    lines = (*((own,) if own.strip() else ()), f"[string]$EKSBootstrapScriptFile = {_text(_SCRIPT)}")
    return "\n".join(("<powershell>", *lines, " ".join(_call(boot)), "</powershell>", ""))


def _call(boot: Boot) -> Iterator[str]:
    home = boot.home
    yield f"& $EKSBootstrapScriptFile -EKSClusterName {_text(home.name)} -APIServerEndpoint {_text(home.endpoint)}"
    if home.authority:
        yield f"-Base64ClusterCA {_text(home.authority)}"
    if boot.name_servers:
        yield f"-DNSClusterIP {_text(boot.name_servers[0])}"
    yield f"-KubeletExtraArgs {_text(' '.join(flags.of(boot)))}"


def _text(text: str) -> str:
    """A PowerShell string in which nothing is interpreted."""
    return "'" + text.replace("'", "''") + "'"
