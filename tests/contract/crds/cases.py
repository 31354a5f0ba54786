"""The table: every field constraint and every rule of every resource we define, accepted and refused."""

from __future__ import annotations

from typing import Final

from tests.contract.crds import core_rows, machine_rows
from tests.contract.crds.ec2_machine_rows import CLASSES
from tests.contract.crds.pool_rows import POOLS
from tests.contract.crds.rows import Row, Table
from tests.contract.crds.small_rows import BUFFERS, CLAIMS, KWOK_CLASSES, OVERLAYS
from tests.contract.crds.type_rows import TYPES

#: Cluster API's kinds, which have a list of their own.
CLUSTER_API: Final[tuple[Table, ...]] = (*machine_rows.TABLES, *core_rows.TABLES)
TABLES: Final[tuple[Table, ...]] = (POOLS, CLAIMS, OVERLAYS, KWOK_CLASSES, BUFFERS, TYPES, CLASSES, *CLUSTER_API)
ROWS: Final[tuple[Row, ...]] = tuple(row for table in TABLES for row in table.rows)
