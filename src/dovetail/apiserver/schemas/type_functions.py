"""CEL functions with types of their own: quantities, URLs, IP addresses and ranges, versions, named formats.

The library has no values but CEL's, so a quantity, an address or a version is a map with one member that names its
type. Equal values are equal maps: `quantity("1Ki") == quantity("1024")`. What such a map cannot do is be given to
`string()` or `type()`; a real server's can.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import SplitResult, parse_qs, urlsplit

from cel import OptionalValue

from dovetail.apiserver.schemas import formats
from dovetail.apiserver.schemas.causes import go_quote
from dovetail.core import quantity
from dovetail.core.errors import BadInput

_QUANTITY: Final = "quantity"
_URL: Final = "url"
_IP: Final = "ip"
_CIDR: Final = "cidr"
_VERSION: Final = "semver"
_FORMAT: Final = "format"
_QUANTITY_SHAPE: Final = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _tests(make: Callable[[str], Any]) -> Callable[[str], bool]:
    def test(text: str) -> bool:
        try:
            make(text)
        except (BadInput, ValueError):
            return False
        return True

    return test


def quantity_of(text: str) -> dict[str, str]:
    try:
        return {_QUANTITY: str(quantity.parse(text).nanos)}
    except BadInput:
        raise ValueError(f"quantities must match the regular expression '{_QUANTITY_SHAPE}'") from None


def _nanos(value: Any) -> int:
    return int(value[_QUANTITY]) if isinstance(value, dict) else int(value) * quantity.NANO


def _as_integer(value: dict[str, str]) -> int:
    nanos = _nanos(value)
    if nanos % quantity.NANO:
        raise ValueError("cannot convert value to integer")
    return nanos // quantity.NANO


def _version(text: str) -> tuple[Any, ...]:
    found = _SEMVER.fullmatch(text)
    if found is None:
        raise ValueError("No Major.Minor.Patch elements found")
    before = tuple(
        (0, int(part), "") if part.isdigit() else (1, 0, part) for part in (found[4] or "").split(".") if part
    )
    return (int(found[1]), int(found[2]), int(found[3]), not before, before)


_SEMVER: Final = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?", re.ASCII
)


def semver(text: str, normalize: bool = False) -> dict[str, str]:
    if normalize:
        parts = ([*text.removeprefix("v").split("-")[0].split("+")[0].split("."), "0", "0"])[:3]
        text = ".".join(str(int(part)) for part in parts)
    _version(text)
    return {_VERSION: text}


def _order(one: Any, other: Any) -> int:
    if isinstance(one, dict) and _VERSION in one:
        mine, theirs = _version(one[_VERSION]), _version(other[_VERSION])
        return (mine > theirs) - (mine < theirs)
    return (_nanos(one) > _nanos(other)) - (_nanos(one) < _nanos(other))


def url(text: str) -> dict[str, str]:
    if not formats.is_uri(text):
        problem = f"parse {go_quote(text)}: invalid URI for request"
        raise ValueError(f"URL parse error during conversion from string: {problem}")
    return {_URL: text}


def _parts(value: dict[str, str]) -> SplitResult:
    return urlsplit(value[_URL])


def _url_port(value: dict[str, str]) -> str:
    port = _parts(value).port
    return "" if port is None else str(port)


def ip(value: Any) -> dict[str, str]:
    """An address from text, or the address of a range."""
    if isinstance(value, dict):
        return {_IP: value[_CIDR].partition("/")[0]}
    try:
        return {_IP: str(ipaddress.ip_address(value))}
    except ValueError:
        problem = f"ParseAddr({go_quote(value)}): unable to parse IP"
        start = f"IP Address {go_quote(value)} parse error during conversion from string"
        raise ValueError(f"{start}: {problem}") from None


def _address(value: Any) -> Address:
    return ipaddress.ip_address(value[_IP] if isinstance(value, dict) else value)


def cidr(text: str) -> dict[str, str]:
    if not formats.is_cidr(text):
        start = "network address parse error during conversion from string"
        raise ValueError(f"{start}: invalid CIDR address: {text}")
    address, _, bits = text.partition("/")
    return {_CIDR: f"{ipaddress.ip_address(address)}/{int(bits)}"}


def _network(value: Any) -> Network:
    return ipaddress.ip_network(value[_CIDR] if isinstance(value, dict) else value, strict=False)


def _contains_cidr(value: Any, other: Any) -> bool:
    outer, inner = _network(value), _network(other)
    return outer.version == inner.version and int(outer.network_address) <= int(inner.network_address) <= int(
        inner.broadcast_address
    ) <= int(outer.broadcast_address)


def _is_global_unicast(value: Any) -> bool:
    one = _address(value)
    limited = one == ipaddress.IPv4Address("255.255.255.255")
    return not (one.is_unspecified or one.is_loopback or one.is_multicast or one.is_link_local or limited)


_FORMAT_TESTS: Final[Mapping[str, tuple[Callable[[str], bool], str]]] = {
    "dns1123Label": (formats.is_short_name, "must be a lower case name of at most 63 characters"),
    "dns1123Subdomain": (formats.is_long_name, "must be lower case names joined by dots"),
    "uuid": (lambda text: formats.is_format("uuid", text), "does not match the UUID format"),
    "uri": (formats.is_uri, "invalid URI"),
    "byte": (lambda text: formats.is_format("byte", text), "invalid base64"),
    "date": (lambda text: formats.is_format("date", text), "invalid date"),
    "datetime": (lambda text: formats.is_format("datetime", text), "invalid datetime"),
}


def validated(value: dict[str, str], text: str) -> OptionalValue:
    accepts, complaint = _FORMAT_TESTS[value[_FORMAT]]
    return OptionalValue.none() if accepts(text) else OptionalValue.of([complaint])


def _named_format(name: str) -> Callable[[], dict[str, str]]:
    return lambda: {_FORMAT: name}


TYPE_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "quantity": quantity_of,
    "isQuantity": _tests(quantity_of),
    "sign": lambda value: (_nanos(value) > 0) - (_nanos(value) < 0),
    "isInteger": lambda value: _nanos(value) % quantity.NANO == 0,
    "asInteger": _as_integer,
    "asApproximateFloat": lambda value: _nanos(value) / quantity.NANO,
    "add": lambda one, other: {_QUANTITY: str(_nanos(one) + _nanos(other))},
    "sub": lambda one, other: {_QUANTITY: str(_nanos(one) - _nanos(other))},
    "compareTo": _order,
    "isGreaterThan": lambda one, other: _order(one, other) > 0,
    "isLessThan": lambda one, other: _order(one, other) < 0,
    "semver": semver,
    "isSemver": _tests(semver),
    "major": lambda value: _version(value[_VERSION])[0],
    "minor": lambda value: _version(value[_VERSION])[1],
    "patch": lambda value: _version(value[_VERSION])[2],
    "url": url,
    "isURL": _tests(url),
    "getScheme": lambda value: _parts(value).scheme,
    "getHost": lambda value: _parts(value).netloc.rpartition("@")[2],
    "getHostname": lambda value: _parts(value).hostname or "",
    "getPort": _url_port,
    "getEscapedPath": lambda value: _parts(value).path,
    "getQuery": lambda value: parse_qs(_parts(value).query, keep_blank_values=True),
    "ip": ip,
    "isIP": _tests(ip),
    "ip.isCanonical": lambda text: str(ipaddress.ip_address(text)) == text,
    "family": lambda value: _address(value).version,
    "isUnspecified": lambda value: _address(value).is_unspecified,
    "isLoopback": lambda value: _address(value).is_loopback,
    "isLinkLocalMulticast": lambda value: _address(value).is_multicast and _address(value).is_link_local,
    "isLinkLocalUnicast": lambda value: _address(value).is_link_local and not _address(value).is_multicast,
    "isGlobalUnicast": _is_global_unicast,
    "cidr": cidr,
    "isCIDR": _tests(cidr),
    "containsIP": lambda value, other: _address(other) in _network(value),
    "containsCIDR": _contains_cidr,
    "masked": lambda value: {_CIDR: str(_network(value))},
    "prefixLength": lambda value: _network(value).prefixlen,
    "validate": validated,
    **{f"format.{name}": _named_format(name) for name in _FORMAT_TESTS},
}
