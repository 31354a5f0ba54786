"""Reads the numbers out of generated Go tables. Only literals are read; no Go is run or copied."""

from __future__ import annotations

import re
from decimal import Decimal

PRICE = re.compile(r'"([^"]+)":\s+(\d+\.\d+)')
AWS_REGION = re.compile(r'^\t"([a-z]+(?:-[a-z]+)+-\d)": \{')
AZURE_REGION = re.compile(r'^\tinitialOnDemandPrices\["(\w+)"\]')
STAMP = re.compile(r"generated at (\d{4}-\d{2}-\d{2})T")

Prices = dict[str, Decimal]


def generated_on(text: str) -> str:
    found = STAMP.search(text)
    assert found, "the table carries no 'generated at' stamp"
    return found[1]


def price_tables(text: str, region_line: re.Pattern[str]) -> dict[str, Prices]:
    """Region → name → price. A price line before the first region line would be a bug, and raises."""
    tables: dict[str, Prices] = {}
    region = ""
    for line in text.splitlines():
        if line.lstrip().startswith("//"):
            continue
        if opened := region_line.match(line):
            region = opened[1]
            tables[region] = {}
        for name, price in PRICE.findall(line):
            tables[region][name.strip()] = Decimal(price)
    return tables


def integers(text: str) -> dict[str, int]:
    """`"name": 123,` lines. Commented lines, whose numbers nobody vouches for, do not match."""
    return {name: int(value) for name, value in re.findall(r'^\s*"([^"]+)":\s*(\d+),', text, re.MULTILINE)}


def struct_fields(text: str) -> dict[str, dict[str, str]]:
    """Top-level `"name": {` blocks, each with its own scalar fields (nested blocks are left out)."""
    blocks: dict[str, dict[str, str]] = {}
    name = ""
    for line in text.splitlines():
        if opened := re.match(r'^\t"([^"]+)": \{', line):
            name = opened[1]
            blocks[name] = {}
        elif name and (scalar := re.match(r"^\t\t(\w+):\s+(\w+),$", line)):
            blocks[name][scalar[1]] = scalar[2]
    return blocks
