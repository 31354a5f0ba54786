"""`python -m tools.gcp_server`: the server as a process; what happens is said by lines on its standard input.

    preempt worker-1                                  its capacity is wanted back
    age worker-1 82800                                it was made 23 hours earlier
    stop worker-1                                     somebody stops it
    forget worker-1                                   somebody deletes it
    sold-out n2-standard-4                            there are none; once more, and there are again
    fail instances.insert 503 backendError            the next such call

It says `ready PORT` once it listens, and `ok` after each line.
"""

from __future__ import annotations

import sys

from tools.gcp_server import Fault, GcpServer, GcpWorld


def main() -> None:
    with GcpServer(GcpWorld(operation_seconds=2.0, boot_seconds=3.0)) as server:
        print(f"ready {server.port}", flush=True)
        for line in sys.stdin:
            words = line.split()
            try:
                _done(server, *words)
            except (AssertionError, StopIteration, TypeError, ValueError) as unknown:
                print(f"cannot: {line.strip()} {unknown}", flush=True)
            else:
                print("ok", flush=True)


def _done(server: GcpServer, lever: str = "", name: str = "", *more: str) -> None:
    world = server.world
    match lever:
        case "preempt":
            world.preempt(name)
        case "age":
            world.age(name, float(more[0]))
        case "stop":
            world.stop(name)
        case "forget":
            world.forget(name)
        case "sold-out":
            world.sold_out ^= {name}
        case "fail":
            server.faults.add(Fault(name, int(more[0]), *more[1:2]))
        case _:
            raise ValueError("nobody knows this")


if __name__ == "__main__":
    main()
