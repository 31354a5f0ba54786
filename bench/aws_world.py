"""The AWS of the benchmark: the test server in a process of its own, with every type priced in every zone.

`python -m bench.aws_world` prints its address and then obeys: `spot N` moves N spot prices, `calls` tells what was
asked so far and starts counting anew.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from bench.report import ROOT

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "bench",
    "AWS_SECRET_ACCESS_KEY": "bench",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": "/nonexistent",
    "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
}
_ODDS = Random(42)


class AwsWorld:
    """A server that runs, from outside."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.url = self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def ask(self, command: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        return self._answer()

    def calls(self) -> dict[str, int]:
        found: dict[str, int] = json.loads(self.ask("calls"))
        return found


@contextmanager
def running() -> Iterator[AwsWorld]:
    command = [sys.executable, "-m", "bench.aws_world"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, env={**os.environ, **ENVIRONMENT}, text=True, **pipes) as process:
        try:
            yield AwsWorld(process)
        finally:
            process.terminate()


def price_everything() -> None:
    from tools.aws_server import WORLD

    from dovetail.clouds.load import load
    from dovetail.core import labels
    from dovetail.core.catalog.prices import NANO

    listing = load("aws")
    for name, rows in listing.offerings.items():
        for row in rows:
            if row.capacity_type == labels.SPOT and row.price and row.zone:
                WORLD.spot[name, row.zone] = row.price.nanodollars / NANO
    WORLD.on_demand.update({name: one.nanodollars / NANO for name, one in listing.list_prices.items()})


def _obey(command: str) -> str:
    from tools.aws_server import WORLD

    word, _, rest = command.partition(" ")
    if word == "spot":
        for pool in _ODDS.sample(sorted(WORLD.spot), min(int(rest), len(WORLD.spot))):
            WORLD.spot[pool] *= 1.01
    told = json.dumps(WORLD.calls)
    WORLD.calls.clear()
    return told


def main() -> None:
    from tools.aws_server import AwsServer

    with AwsServer() as server:
        server.furnished()
        price_everything()
        print(server.url, flush=True)
        for line in sys.stdin:
            print(_obey(line.strip()), flush=True)


if __name__ == "__main__":
    main()
