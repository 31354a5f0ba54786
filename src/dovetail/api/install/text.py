"""Objects as YAML a person can read: one document each, no anchors, keys in the order they were given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import yaml

WIDTH: Final = 120
#: The C emitter where there is one: it is much quicker.
Dumper: type[yaml.SafeDumper] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Plain(Dumper):  # type: ignore[misc, valid-type]
    """Writes a value that occurs twice out twice; readers of manifests do not look elsewhere for half of one."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def yaml_text(objects: Iterable[Mapping[str, Any]], width: int = WIDTH) -> str:
    """The objects as documents of one stream."""
    return "---\n".join(
        yaml.dump(dict(one), Dumper=_Plain, sort_keys=False, allow_unicode=True, width=width) for one in objects
    )
