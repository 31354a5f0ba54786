"""Under which licence each package comes, and whether we may ship on it.

A package may say its licence in three ways: as an SPDX expression, as free text, as classifiers. The first that can be
understood counts. What cannot be understood is not allowed: somebody reads it and writes down here what was found.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Final, cast

from tools.sbom.needed import Package

#: Licences that ask for no more than their text and a name.
ALLOWED: Final = frozenset(
    {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "PSF-2.0", "BSD License"}
)


@dataclass(frozen=True, slots=True)
class Reason:
    licence: str
    why: str


#: Others, package by package, with the reason why they may stay.
EXCEPTIONS: Final[Mapping[str, Reason]] = {
    "certifi": Reason(
        "MPL-2.0",
        "a list of authorities, installed from its own wheel and never changed by us: MPL-2.0 asks for the source of "
        "changed files only",
    ),
}

#: What packages write, in the words of SPDX. "BSD License" is a classifier that does not say which of two it means.
_SPDX: Final = {
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "3-clause bsd license": "BSD-3-Clause",
    "bsd 2-clause license": "BSD-2-Clause",
    "bsd": "BSD License",
    "bsd license": "BSD License",
    "isc license": "ISC",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
}
_KNOWN: Final = {name.lower(): name for name in (*ALLOWED, "MPL-2.0", *(r.licence for r in EXCEPTIONS.values()))}
UNKNOWN: Final = "unknown"


def licence_of(package: str) -> str:
    return read(cast(Message, importlib.metadata.metadata(package)))


def read(metadata: Message) -> str:
    """An SPDX expression where the package has one, else the nearest name, else `unknown`."""
    if expression := metadata.get("License-Expression"):
        return expression.strip()
    if text := _named(metadata.get("License", "")):
        return text
    classifiers = [one.rpartition("::")[2].strip() for one in metadata.get_all("Classifier", ()) if "License ::" in one]
    named = [_named(one) for one in classifiers]
    # Several classifiers may mean a choice or a sum; as a sum each of them must be allowed.
    return " AND ".join(sorted(one or UNKNOWN for one in named)) or UNKNOWN


def _named(text: str) -> str:
    text = text.strip().lower()
    return _KNOWN.get(text) or _SPDX.get(text, "")


def allowed(licence: str) -> bool:
    """A sum needs all of its parts, a choice one. Brackets and WITH are for a person to read."""
    if "(" in licence or " WITH " in licence:
        return False
    return all(any(one.strip() in ALLOWED for one in part.split(" OR ")) for part in licence.split(" AND "))


def complaints(packages: Iterable[Package], licences: Mapping[str, str], pinned: Mapping[str, str]) -> list[str]:
    """What must be settled before anything is shipped."""
    found = []
    excused = set()
    for package in packages:
        licence = licences[package.name]
        excuse = EXCEPTIONS.get(package.name)
        if excuse and excuse.licence == licence:
            excused.add(package.name)
        elif not allowed(licence):
            found.append(
                f"{package.name} {package.version} comes under {licence}: read its licence, then add the licence to "
                "ALLOWED or the package with a reason to EXCEPTIONS in tools/sbom/licences.py, or do without it"
            )
        if package.name not in pinned:
            found.append(f"{package.name} is needed and not pinned: add {package.name}=={package.version}")
        elif pinned[package.name] != package.version:
            wanted = pinned[package.name]
            found.append(f"{package.name} {package.version} is installed and {wanted} is pinned: run make again")
    return found + [
        f"{name} is excused in tools/sbom/licences.py and not needed under {EXCEPTIONS[name].licence} any more"
        for name in sorted(set(EXCEPTIONS) - excused)
    ]
