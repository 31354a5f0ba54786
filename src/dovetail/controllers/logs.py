"""Log lines: JSON for machines, or one readable line for a person at a terminal."""

from __future__ import annotations

import json
import logging
import time
from typing import Final, TextIO

_LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "warn": logging.WARNING, "error": logging.ERROR}
_NAMES: Final = {"DEBUG": "debug", "INFO": "info", "WARNING": "warn", "ERROR": "error", "CRITICAL": "error"}


class JsonLines(logging.Formatter):
    """One JSON object a line, with the keys Karpenter's logs have."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "level": _NAMES.get(record.levelname, record.levelname.lower()),
            "time": _time(record),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = f"{type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
            line["stacktrace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


class Readable(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%H:%M:%S", time.localtime(record.created))
        text = f"{moment} {_NAMES.get(record.levelname, ''):5} {record.getMessage()}"
        if record.exc_info and record.levelno >= logging.ERROR:
            text = f"{text}\n{self.formatException(record.exc_info)}"
        return text


def _time(record: logging.LogRecord) -> str:
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{whole}.{int(record.msecs):03d}Z"


def set_up(level: str, form: str, stream: TextIO) -> None:
    """Send everything there is to one stream."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines() if form == "json" else Readable())
    root = logging.getLogger("dovetail")
    root.handlers[:] = [handler]
    root.setLevel(_LEVELS.get(level, logging.INFO))
    root.propagate = False
