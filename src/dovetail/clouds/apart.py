"""A door to a cloud in a process of its own, which is there only while something is being bought or removed.

An SDK may take a hundred megabytes as soon as it is imported, and Python gives none of them back. A controller whose
machines run has no use for it: what it asks now and then it asks without. So the SDK is imported by another process,
started by the first call that needs it and ended when nobody has for a while.

Both talk in lines of JSON over the child's standard input and output. Answers come in any order, since the child works
in several threads. A child that ends, however it does, is a cloud that did not answer: whoever asked asks again, as
ever when an answer was lost, and the next call starts another. When its standard input ends, so does it: it outlives
nobody.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from typing import IO, Any, Final

from dovetail.clouds.port import CloudError, Unavailable

Json = dict[str, Any]
_Child = subprocess.Popen[str]
#: A child nobody has asked for so long ends.
IDLE_SECONDS: Final = 60.0
#: A child that is told to end and does not is ended.
_END_SECONDS: Final = 5.0


class Apart:
    """The door, from outside; called from threads. `program` is a module that calls `serve`, `told` the first line it
    hears. `raised` makes errors of what the child's `shown` made of them. A call takes `seconds` at most, and the
    first one longer, for the child is started then."""

    def __init__(
        self, program: str, told: Json, raised: Callable[[Json], CloudError], seconds: float, idle: float = IDLE_SECONDS
    ) -> None:
        self._program, self._told, self._raised = program, told, raised
        self._seconds, self._idle = seconds, idle
        self._lock = threading.Lock()
        self._child: _Child | None = None
        self._numbers = count()
        self._waiting: dict[int, tuple[_Child, Future[Json]]] = {}
        self._timer: threading.Timer | None = None

    @property
    def pid(self) -> int | None:
        """The child's, while there is one."""
        return self._child.pid if self._child is not None else None

    def ask(self, call: str, **named: Any) -> Any:
        """Raises CloudError: what the child did, or Unavailable if it ended over it."""
        number, future = next(self._numbers), Future[Json]()
        with self._lock:
            self._rested()
            try:
                child = self._write({"number": number, "call": call, "named": named})
            except OSError as broken:
                raise Unavailable(f"the process that asks the cloud ended when asked to {call}") from broken
            self._waiting[number] = child, future
        try:
            answer = future.result(self._seconds)
        except TimeoutError:
            raise Unavailable(f"nothing was heard of {call} within {self._seconds:g} s") from None
        finally:
            self._over(number)
        if "error" in answer:
            raise self._raised(answer["error"])
        return answer["value"]

    def close(self) -> None:
        """End the child; nobody asks any more."""
        with self._lock:
            self._rested()
            child, self._child = self._child, None
        if child is not None:
            _end(child)

    # ---- the child; under the lock

    def _write(self, line: Json) -> _Child:
        if self._child is None or self._child.poll() is not None:
            self._child = self._started()
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps(line) + "\n")
        self._child.stdin.flush()
        return self._child

    def _started(self) -> _Child:
        """In a group of its own: who interrupts us from a terminal means us, and the child hears of it in time."""
        line = [sys.executable, "-m", self._program]
        child = subprocess.Popen(  # noqa: S603  (ourselves)
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, process_group=0
        )
        assert child.stdin is not None
        child.stdin.write(json.dumps(self._told) + "\n")
        threading.Thread(target=self._listen, args=(child,), name=self._program, daemon=True).start()
        return child

    def _rested(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _over(self, number: int) -> None:
        with self._lock:
            self._waiting.pop(number, None)
            if not self._waiting and self._child is not None:
                self._rested()
                self._timer = threading.Timer(self._idle, self._nobody_asks)
                self._timer.daemon = True
                self._timer.start()

    def _nobody_asks(self) -> None:
        with self._lock:
            if self._waiting:
                return
            child, self._child = self._child, None
        if child is not None:
            _end(child)

    # ---- what it says

    def _listen(self, child: _Child) -> None:
        assert child.stdout is not None
        assert child.stdin is not None
        with child.stdout as lines:
            for line in lines:
                answer: Json = json.loads(line)
                with self._lock:
                    asked = self._waiting.pop(answer["number"], None)
                if asked is not None:
                    asked[1].set_result(answer)
        child.wait()
        with contextlib.suppress(OSError):
            child.stdin.close()
        with self._lock:
            if self._child is child:
                self._child = None
            lost = {number: future for number, (whose, future) in self._waiting.items() if whose is child}
            for number in lost:
                del self._waiting[number]
        for future in lost.values():
            future.set_exception(Unavailable("the process that asks the cloud ended before it answered"))


def _end(child: _Child) -> None:
    assert child.stdin is not None
    with contextlib.suppress(OSError):
        child.stdin.close()
    try:
        child.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


# ------------------------------------------------------------------------------------------------ inside the child


def serve(
    opened: Callable[[Json], Callable[[str, Json], Any]], shown: Callable[[CloudError], Json], threads: int
) -> None:
    """Answer until nobody asks any more. `opened` is given the first line, and returns what does the work; what it
    raises is the answer to everything. What the SDK prints goes where errors go."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    writing = threading.Lock()

    def answer(asked: Json) -> None:
        try:
            told: Json = {"value": work(asked["call"], asked["named"])}
        except CloudError as error:
            told = {"error": shown(error)}
        _say(out, writing, {"number": asked["number"], **told})

    work = _opened(opened, json.loads(sys.stdin.readline()))
    with ThreadPoolExecutor(threads) as pool:
        for line in sys.stdin:
            pool.submit(answer, json.loads(line)).add_done_callback(_fault)
        # Nobody is left to hear what comes of what is still asked.
        os._exit(0)


def _opened(opened: Callable[[Json], Callable[[str, Json], Any]], told: Json) -> Callable[[str, Json], Any]:
    try:
        return opened(told)
    except CloudError as problem:
        failed = problem

    def refuse(call: str, named: Json) -> Any:
        raise failed

    return refuse


def _say(out: IO[str], writing: threading.Lock, told: Json) -> None:
    with writing:
        out.write(json.dumps(told) + "\n")
        out.flush()


def _fault(done: Future[None]) -> None:
    """A fault of ours ends the child, and everybody who waits hears of it."""
    if done.exception() is not None:
        import traceback

        traceback.print_exception(done.exception())
        os._exit(1)
