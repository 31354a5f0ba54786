"""Formats of strings and numbers: what `format` in a schema demands.

A real server knows a list of string formats and silently ignores every other name, and so does this table. Dashes in
names do not matter: `date-time` and `datetime` are one format.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Final
from urllib.parse import urlsplit

_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))", re.ASCII)
_GO_DURATION: Final = re.compile(r"[+-]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)
_WORDY_DURATION: Final = re.compile(
    r"[0-9]+\s*(?:ns|nanos?|us|µs|micros?|ms|millis?|s|sec\w*|m|min\w*|h|hr|hour\w*|d|day\w*|w|wk|week\w*)\b", re.I
)
_UUID: Final = "[0-9a-f]{8}-?[0-9a-f]{4}-?%s-?%s-?[0-9a-f]{12}"
_LABEL: Final = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_HOSTNAME: Final = re.compile(rf"{_LABEL}|(?:{_LABEL}\.)+[a-zA-Z]{{2,63}}")
_SHORT_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LONG_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_MAX_NAME: Final = 253
_EMAIL: Final = re.compile(r"(?:[^<>@]*<)?[^\s<>@\"(),:;\[\]]+@[^\s<>@]+>?")
_MAC: Final = re.compile(
    r"(?:[0-9A-Fa-f]{2}([:-]))(?:[0-9A-Fa-f]{2}\1){4,18}[0-9A-Fa-f]{2}|(?:[0-9A-Fa-f]{4}\.){2,9}[0-9A-Fa-f]{4}"
)
_RGB: Final = re.compile(r"rgb\(\s*(?:25[0-5]|2[0-4]\d|1?\d?\d)\s*(?:,\s*(?:25[0-5]|2[0-4]\d|1?\d?\d)\s*){2}\)")

INTEGER_RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}


def string_format(name: str) -> Callable[[str], bool] | None:
    """The test for a format, or None where a real server would ignore the name."""
    return _FORMATS.get(name.replace("-", ""))


def _matches(pattern: str) -> Callable[[str], bool]:
    found = re.compile(pattern, re.I | re.ASCII)
    return lambda text: found.fullmatch(text) is not None


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return len(text) == len("2006-01-02")


def _is_date_time(text: str) -> bool:
    day, separator, clock = text.lower().partition("t")
    found = _TIME.fullmatch(clock)
    return (
        bool(separator) and found is not None and _is_date(day) and found[1] <= "23" and max(found[2], found[3]) <= "59"
    )


def _is_duration(text: str) -> bool:
    return _GO_DURATION.fullmatch(text) is not None or _WORDY_DURATION.search(text) is not None


def _is_ipv4(text: str) -> bool:
    parts = text.split(".")
    return len(parts) == 4 and all(part.isdigit() and part.isascii() and int(part) < 256 for part in parts)


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return "%" not in text


def is_cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    if not slash or not bits.isdigit() or not bits.isascii():
        return False
    return (_is_ipv4(address) and int(bits) <= 32) or (_is_ipv6(address) and int(bits) <= 128)


def is_uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme) or text.startswith("/")


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _is_isbn10(text: str) -> bool:
    digits = text.replace("-", "").replace(" ", "")
    if not re.fullmatch(r"[0-9]{9}[0-9X]", digits):
        return False
    total = sum((10 - at) * (10 if one == "X" else int(one)) for at, one in enumerate(digits))
    return total % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = text.replace("-", "").replace(" ", "")
    if not re.fullmatch(r"[0-9]{13}", digits):
        return False
    return sum(int(one) * (3 if at % 2 else 1) for at, one in enumerate(digits)) % 10 == 0


def _is_credit_card(text: str) -> bool:
    digits = [int(one) for one in re.sub(r"\D", "", text)]
    doubled = [one * 2 - 9 if one > 4 else one * 2 for one in digits[-2::-2]]
    return 12 <= len(digits) <= 19 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def is_short_name(text: str) -> bool:
    return _SHORT_NAME.fullmatch(text) is not None


def is_long_name(text: str) -> bool:
    return len(text) <= _MAX_NAME and _LONG_NAME.fullmatch(text) is not None


def is_format(name: str, text: str) -> bool:
    """Whether a text has a format the table below knows."""
    return _FORMATS[name](text)


_FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "bsonobjectid": _matches("[0-9a-f]{24}"),
    "uri": is_uri,
    "email": lambda text: _EMAIL.fullmatch(text) is not None,
    "hostname": lambda text: len(text) <= 255 and _HOSTNAME.fullmatch(text) is not None,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "cidr": is_cidr,
    "mac": lambda text: _MAC.fullmatch(text) is not None,
    "uuid": _matches(_UUID % ("[0-9a-f]{4}", "[0-9a-f]{4}")),
    "uuid3": _matches(_UUID % ("3[0-9a-f]{3}", "[0-9a-f]{4}")),
    "uuid4": _matches(_UUID % ("4[0-9a-f]{3}", "[89ab][0-9a-f]{3}")),
    "uuid5": _matches(_UUID % ("5[0-9a-f]{3}", "[89ab][0-9a-f]{3}")),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": _matches(r"\d{3}[- ]?\d{2}[- ]?\d{4}"),
    "hexcolor": _matches("#?([0-9a-f]{3}|[0-9a-f]{6})"),
    "rgbcolor": lambda text: _RGB.fullmatch(text) is not None,
    "byte": _is_base64,
    "password": lambda text: True,
    "date": _is_date,
    "duration": _is_duration,
    "datetime": _is_date_time,
    "k8sshortname": is_short_name,
    "k8slongname": is_long_name,
}
