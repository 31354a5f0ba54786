"""What goes wrong, and when: a script of faults, each taken by the next call it is meant for."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass
class Fault:
    """What befalls calls of this name, such as `instances.insert`; "" is any.

    `after` does the work first and loses the answer. `status` 0 hangs up without any answer, `code` fails the operation
    that the call begins, `text` is sent in place of JSON, and `seconds` is how long it takes. As many calls as `skip`
    says are left alone before.
    """

    call: str = ""
    status: int = 503
    reason: str = "backendError"
    message: str = "Backend Error"
    times: int = 1
    after: bool = False
    code: str = ""
    seconds: float = 0.0
    skip: int = 0
    text: str = ""
    headers: dict[str, str] = field(default_factory=dict)


class Faults:
    """The script, read by many threads."""

    def __init__(self) -> None:
        self._script: list[Fault] = []
        self._lock = threading.Lock()

    def add(self, *faults: Fault) -> None:
        with self._lock:
            self._script += faults

    def clear(self) -> None:
        with self._lock:
            self._script.clear()

    def take(self, call: str) -> Fault | None:
        with self._lock:
            for at, one in enumerate(self._script):
                if one.call in ("", call) and one.skip > 0:
                    one.skip -= 1
                elif one.call in ("", call):
                    one.times -= 1
                    if one.times <= 0:
                        del self._script[at]
                    return one
        return None
