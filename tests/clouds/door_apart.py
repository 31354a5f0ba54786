"""A cloud for the tests of `clouds.apart`: it says who it is, refuses, dies and dawdles as it is told."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from dovetail.clouds import apart
from dovetail.clouds.apart import Json
from dovetail.clouds.port import CloudError, Misconfigured, NotFound

_MET = threading.Barrier(2)


def shown(error: CloudError) -> Json:
    return {"message": str(error)}


def raised(told: Json) -> CloudError:
    return NotFound(told["message"])


def opened(told: Json) -> Any:
    if told.get("refused"):
        raise Misconfigured(told["refused"])

    def work(call: str, named: Json) -> Any:
        match call:
            case "who":
                return {"pid": os.getpid(), **told, **named}
            case "refuse":
                raise NotFound("no such thing")
            case "die":
                return os._exit(3)
            case "print":
                print("what an SDK prints is no answer", flush=True)
                sys.stdout.write("nor this\n")
                return "printed"
            case "meet":
                _MET.wait(60)
                return "met"
            case "never":
                return threading.Event().wait()
            case _:
                raise AssertionError(f"a fault of ours: {call}")

    return work


if __name__ == "__main__":
    apart.serve(opened, shown, threads=4)
