"""What the command's exit codes mean; there are no others."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    OK = 0
    #: Something went wrong that is not the user's doing; or `catalog diff --exit-code` found differences.
    FAILED = 1
    #: Something the user wrote cannot be used. What could be used was, and is on stdout.
    BAD_INPUT = 2
    #: `plan`: some pods have to wait. Kept for verbs that wait, too: the work is not done yet.
    PENDING = 3
    #: Stopped by Ctrl-C; the number shells give such a process.
    INTERRUPTED = 130
