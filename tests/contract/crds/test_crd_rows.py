"""Every row of the table, on the embedded server and on the real one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.contract.crds.cases import ROWS, TABLES
from tests.contract.crds.putting import put_all
from tests.contract.crds.rows import Row, Table, at
from tests.contract.kubernetes.raw_api import Answer, Server

Verdicts = dict[str, Answer]


@pytest.fixture(scope="module")
def embedded_verdicts(embedded_server: Server) -> Verdicts:
    return asyncio.run(put_all(embedded_server, ROWS))


@pytest.fixture(scope="module")
def real_verdicts(real_server: Server) -> Verdicts:
    return asyncio.run(put_all(real_server, ROWS))


def test_no_two_rows_share_a_name():
    assert len({str(row) for row in ROWS}) == len(ROWS)


def wrong_with(row: Row, answer: Answer) -> Any:
    """What the server did that the row does not allow; None where it did as it should."""
    if not row.refused:
        if answer.status not in (200, 201):
            return f"refused: {answer.body}"
        found = {path: at(answer.body, path) for path in row.filled}
        return None if found == dict(row.filled) else f"filled in: {found}"
    if answer.status != 422:
        return f"answered {answer.status}"
    causes = [(one["field"], one["message"]) for one in answer.refused(422, "Invalid")["details"]["causes"]]
    told = any(field == row.where and row.says in message for field, message in causes)
    return None if told else f"refused for another reason than {row.where}: {row.says}: {causes}"


# One test for a kind rather than for a row: there are a thousand rows, and each takes a server a millisecond.
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.kind.name)
def test_every_row_of_a_kind_is_judged_as_the_contract_says(verdicts: Verdicts, table: Table) -> None:
    judged = {str(row): wrong_with(row, verdicts[str(row)]) for row in table.rows}
    assert {row: wrong for row, wrong in judged.items() if wrong is not None} == {}
