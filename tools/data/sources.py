"""Fetches the archives the catalogue is made from, with the ordinary clients (pip and go).

A wheel and a Go module are both zip files, so one `Archive` reads either. The clients decide where the
packages come from; no address is written down here.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Archive:
    """One published package: `package` and `version` name it, `prefix` is the folder its files are under."""

    package: str
    version: str
    path: Path
    prefix: str
    license: str = "Apache-2.0"

    def read(self, member: str) -> bytes:
        with zipfile.ZipFile(self.path) as archive:
            return archive.read(self.prefix + member)

    def text(self, member: str) -> str:
        return self.read(member).decode()

    def names(self, under: str) -> list[str]:
        with zipfile.ZipFile(self.path) as archive:
            found = (name.removeprefix(self.prefix) for name in archive.namelist())
            return sorted(name for name in found if name.startswith(under) and not name.endswith("/"))

    def packed_on(self, member: str) -> str:
        """The day the member was packed, for sources that carry no date of their own."""
        with zipfile.ZipFile(self.path) as archive:
            year, month, day = archive.getinfo(self.prefix + member).date_time[:3]
            return f"{year:04}-{month:02}-{day:02}"

    def cite(self, member: str) -> str:
        return f"{self.package} {self.version}: {member}"


@dataclass(frozen=True, slots=True)
class Sources:
    moto: Archive
    libcloud: Archive
    karpenter_aws: Archive
    karpenter_azure: Archive


def fetch_all(into: Path) -> Sources:
    into.mkdir(parents=True, exist_ok=True)
    return Sources(
        moto=_wheel("moto", "5.2.5", into),
        libcloud=_wheel("apache-libcloud", "3.9.1", into),
        karpenter_aws=_module("github.com/aws/karpenter-provider-aws", "v1.14.1", into),
        karpenter_azure=_module("github.com/Azure/karpenter-provider-azure", "v1.7.1", into),
    )


def _wheel(package: str, version: str, into: Path) -> Archive:
    pattern = f"{package.replace('-', '_')}-{version}-*.whl"
    if not list(into.glob(pattern)):
        print(f"fetching {package} {version}", flush=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*command, "--dest", str(into), f"{package}=={version}"], check=True)
    return Archive(package, version, sorted(into.glob(pattern))[0], prefix="")


def _module(module: str, version: str, into: Path) -> Archive:
    kept = into / f"{re.sub('[^A-Za-z0-9]+', '-', module)}-{version}.zip"
    if not kept.exists():
        print(f"fetching {module} {version}", flush=True)
        command = ["go", "mod", "download", "-json", f"{module}@{version}"]
        answer = subprocess.run(command, check=True, capture_output=True, text=True, cwd=into)
        shutil.copyfile(json.loads(answer.stdout)["Zip"], kept)
    return Archive(module, version, kept, prefix=f"{module}@{version}/")
