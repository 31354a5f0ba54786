"""Writes gzipped JSON Lines and the manifest that vouches for them.

One object a line, so that a truncated file loses only the lines after the damage. Keys keep the order the
row was built in, rows the order they were given; gzip carries neither name nor time. The same rows therefore
always make the same bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Provenance:
    source: str
    date: str
    license: str
    note: str


@dataclass(slots=True)
class Catalogue:
    root: Path
    files: list[dict[str, Any]] = field(default_factory=list)

    def write(self, name: str, rows: Iterable[Row], provenance: Provenance) -> None:
        lines = [json.dumps(row, separators=(",", ":"), ensure_ascii=False) for row in rows]
        plain = "".join(line + "\n" for line in lines).encode()
        packed = _pack(plain)
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(packed)
        self.files.append(
            {
                "file": name,
                "rows": len(lines),
                "sha256": hashlib.sha256(packed).hexdigest(),
                "source": provenance.source,
                "sourceDate": provenance.date,
                "license": provenance.license,
                "note": provenance.note,
            }
        )
        print(f"{name:40} {len(lines):6} rows {len(plain):9} bytes plain {len(packed):7} packed", flush=True)

    def finish(self) -> None:
        """Write the manifest, and remove data files a former run left that this one did not write."""
        files = sorted(self.files, key=lambda entry: str(entry["file"]))
        (self.root / "manifest.json").write_text(json.dumps({"files": files}, indent=1, ensure_ascii=False) + "\n")
        listed = {str(entry["file"]) for entry in files}
        for path in sorted(self.root.rglob("*.jsonl.gz")):
            if path.relative_to(self.root).as_posix() not in listed:
                print(f"removing {path.relative_to(self.root)}", flush=True)
                path.unlink()
        size = sum((self.root / name).stat().st_size for name in listed)
        print(f"{len(files)} files, {sum(int(f['rows']) for f in files)} rows, {size} bytes", flush=True)


def _pack(plain: bytes) -> bytes:
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=buffer, mtime=0) as stream:
        stream.write(plain)
    return buffer.getvalue()


def money(amount: Decimal) -> str:
    """A price as the shortest plain decimal: "0.096", never "9.6E-2" or "0.096000"."""
    text = format(amount, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
