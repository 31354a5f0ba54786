"""Values on stdout, in the format the user asked for."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from dovetail.cli.console import Console


def structured(value: object, output: str, console: Console) -> None:
    """Write a JSON-ready value as JSON or YAML."""
    if output == "yaml":
        import yaml

        from dovetail.api.install.text import Dumper

        console.write(yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120))
        return
    import msgspec

    console.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def csv_table(header: Sequence[str], rows: Iterable[Sequence[object]], console: Console) -> None:
    console.write(csv_text(header, rows))


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return out.getvalue()


def _cell(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
