"""`python -m tools.sbom licences` audits; `python -m tools.sbom write dist` puts a bill beside each wheel in `dist`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tools.sbom import cyclonedx, licences
from tools.sbom.needed import ROOT, NotInstalled, needed, project


def pins(file: Path = ROOT / "constraints.txt") -> dict[str, str]:
    lines = (line.partition("#")[0].strip() for line in file.read_text(encoding="utf-8").splitlines())
    wanted = [Requirement(line) for line in lines if line]
    return {canonicalize_name(one.name): str(one.specifier).removeprefix("==") for one in wanted}


def audit() -> int:
    packages = needed(project())
    found = {one.name: licences.licence_of(one.name) for one in packages}
    for one in packages:
        note = licences.EXCEPTIONS[one.name].why if one.name in licences.EXCEPTIONS else ""
        who = ", ".join(one.extras) or "always"
        print(f"{one.name:28} {one.version:14} {found[one.name]:30} {who:22} {note}".rstrip())
    wrong = licences.complaints(packages, found, pins())
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


def write(folder: Path) -> int:
    of = project()
    wheels = sorted(folder.glob("*.whl"))
    if not wheels:
        print(f"no wheel in {folder}: run `make dist`", file=sys.stderr)
        return 1
    packages = needed(of)
    found = {one.name: licences.licence_of(one.name) for one in packages}
    for wheel in wheels:
        bill = wheel.with_suffix(".cdx.json")
        bill.write_text(json.dumps(cyclonedx.bill(of, packages, found, wheel), indent=1) + "\n", encoding="utf-8")
        print(f"wrote {bill}: {len(packages)} packages")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.sbom", description=__doc__)
    verbs = parser.add_subparsers(required=True, dest="verb")
    verbs.add_parser("licences", help="each package's licence; fails on one that is unknown or not allowed")
    verbs.add_parser("write", help="a bill of materials beside each wheel").add_argument("folder", type=Path)
    flags = parser.parse_args()
    try:
        return audit() if flags.verb == "licences" else write(flags.folder)
    except NotInstalled as missing:
        print(missing, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
