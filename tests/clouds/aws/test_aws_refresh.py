"""`catalog refresh`: a catalogue heard once, kept as a file that every command reads."""

from __future__ import annotations

import io
import json
import re
from argparse import ArgumentParser
from datetime import date
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.clouds.aws.selling import A, B, sells_only
from tools.aws_server import AwsServer
from tools.aws_server.world import Refuse

from dovetail import settings
from dovetail.api import catalog_file
from dovetail.cli import catalog_refresh
from dovetail.cli.console import Console, Streams
from dovetail.cli.exits import Exit
from dovetail.core.errors import BadInput


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def _few(aws_server: AwsServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sells_only(("m5.large", "c6g.large", "m5.metal"), monkeypatch)
    aws_server.world.on_demand.update({"m5.large": 0.1, "c6g.large": 0.07, "m5.metal": 4.6})
    aws_server.world.spot.update({(name, zone): 0.03 for name in ("m5.large", "c6g.large") for zone in (A, B)})
    monkeypatch.setenv("DOVETAIL_HOME", str(tmp_path / "home"))


def refresh(server: AwsServer, *words: str) -> Ran:
    parser = ArgumentParser()
    catalog_refresh.configure(parser)
    flags = parser.parse_args([*words, "--cloud-endpoint", server.url])
    streams = Streams(io.StringIO(), io.StringIO(), io.StringIO())
    console = Console(streams, settings.read(flags), date(2026, 11, 15))
    code = catalog_refresh.run(flags, console)
    console.tell_problems()
    return Ran(code, *(one.getvalue() for one in streams[1:]))  # type: ignore[attr-defined]


def test_the_catalogue_is_kept_in_the_data_directory_and_reads_back(aws_server: AwsServer, tmp_path: Path) -> None:
    ran = refresh(aws_server, "--region", "us-east-1")
    path = tmp_path / "home" / "catalog-aws-us-east-1.json"
    assert ran.code == Exit.OK
    assert str(path) in ran.out
    listing = catalog_file.read(path.read_text(), "catalog")
    assert not listing.problems
    assert {one.name for one in listing.hardware} == {"m5.large", "c6g.large", "m5.metal"}
    assert {str(row.price.source.kind) for row in listing.offerings["m5.large"] if row.price} == {"live"}
    assert "instance types: heard from AWS, 0 minutes old" in ran.err
    assert re.search(r"it took \d+ calls; use it with --catalog ", ran.err)


def test_who_has_no_credentials_is_told_which_would_do(aws_server: AwsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(BadInput, match=r"no AWS credentials.*set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"):
        refresh(aws_server, "--region", "us-east-1")


def test_who_names_no_region_is_told_how_to(aws_server: AwsServer) -> None:
    with pytest.raises(BadInput, match="no AWS region is known; name one with --region"):
        refresh(aws_server)


def test_who_may_not_ask_for_prices_gets_the_rest_and_is_told(aws_server: AwsServer, tmp_path: Path) -> None:
    aws_server.world.fail_always("GetProducts", Refuse("AccessDeniedException", "not authorized to GetProducts", 400))
    ran = refresh(aws_server, "--region", "us-east-1", "--to", str(tmp_path / "c.json"))
    assert ran.code == Exit.FAILED
    assert "on-demand prices: as bundled with this program" in ran.err
    assert "pricing GetProducts was refused (AccessDeniedException)" in ran.err
    assert (tmp_path / "c.json").exists()


def test_an_isolated_network_is_no_failure(aws_server: AwsServer, tmp_path: Path) -> None:
    ran = refresh(aws_server, "--region", "us-east-1", "--isolated-vpc", "--to", str(tmp_path / "c.json"))
    assert ran.code == Exit.OK
    assert aws_server.world.calls["GetProducts"] == 0


def test_what_was_heard_can_be_told_to_a_program(aws_server: AwsServer, tmp_path: Path) -> None:
    path = str(tmp_path / "c.json")
    told = json.loads(refresh(aws_server, "--region", "us-east-1", "--to", path, "-o", "json").out)
    assert {key: told[key] for key in ("cloud", "region", "types", "path")} == {
        "cloud": "aws",
        "region": "us-east-1",
        "types": 3,
        "path": path,
    }


def test_without_types_nothing_is_written(aws_server: AwsServer, tmp_path: Path) -> None:
    aws_server.world.fail_always("DescribeInstanceTypes", Refuse("UnauthorizedOperation", "no", 403))
    with pytest.raises(BadInput, match="ec2 DescribeInstanceTypes was refused"):
        refresh(aws_server, "--region", "us-east-1", "--to", str(tmp_path / "c.json"))
    assert not (tmp_path / "c.json").exists()
