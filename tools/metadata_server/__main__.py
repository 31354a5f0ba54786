"""`python -m tools.metadata_server`: the fake, as a process; what it says is changed by lines on its standard input.

    aws spot/instance-action {"action": "terminate", "time": "2027-01-15T08:02:00Z"}
    aws spot/instance-action                                   nothing there any more
    gcp instance/preempted TRUE
    azure Preempt                                              an event for this machine
    azure withdraw
    azure name NAME                                            what the machine is called

It says `ready PORT` once it listens, and `ok` after each line.
"""

from __future__ import annotations

import asyncio
import sys

from .server import FakeMetadata


async def main() -> None:
    async with FakeMetadata() as fake:
        print(f"ready {fake.port}", flush=True)
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            cloud, _, rest = line.strip().partition(" ")
            key, _, value = rest.partition(" ")
            _set(fake, cloud, key, value)
            print("ok", flush=True)


def _set(fake: FakeMetadata, cloud: str, key: str, value: str) -> None:
    match cloud:
        case "aws" if value:
            fake.aws.notices[key] = value
        case "aws":
            fake.aws.notices.pop(key, None)
        case "gcp":
            fake.gcp.set(key, value)
        case "azure" if key == "name":
            fake.azure.name = value
        case "azure" if key == "withdraw":
            fake.azure.withdraw()
        case "azure":
            fake.azure.schedule(key, NotBefore=value)
        case _:
            print(f"what is {cloud!r}?", file=sys.stderr)


if __name__ == "__main__":
    asyncio.run(main())
