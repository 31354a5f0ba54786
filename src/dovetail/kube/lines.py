"""A stream of newline-delimited JSON, cut into whole lines however it arrives.

A read may bring ten thousand events or the middle of one that is 1.5 MB long. Whole lines go out as one batch per read,
because an await for each line costs more than decoding it; the beginning of an unfinished one is kept in pieces, which
are joined once, when its end arrives, so that a long line costs its length and not its square.
"""

from __future__ import annotations


class Lines:
    """Feed it what arrives; it returns the lines that are whole."""

    __slots__ = ("_held", "_held_bytes", "_most")

    def __init__(self, most: int) -> None:
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._most = most

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that end in this chunk, without empty ones. Raises OverflowError at a line longer than `most`."""
        whole = chunk.split(b"\n")
        rest = whole.pop()
        if whole and self._held:
            self._held.append(whole[0])
            whole[0] = b"".join(self._held)
            self._held.clear()
            self._held_bytes = 0
        if rest:
            self._held.append(rest)
            self._held_bytes += len(rest)
            if self._held_bytes > self._most:
                raise OverflowError(f"a line is longer than {self._most:,} bytes")
        return [line for line in whole if line] if b"" in whole else whole

    @property
    def unfinished(self) -> int:
        """How many bytes of a line have arrived without its end."""
        return self._held_bytes
