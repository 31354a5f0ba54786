"""How numbers are written for people: money, room, shares and ages."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from math import inf
from typing import Final

from dovetail.core import resources
from dovetail.core.catalog.prices import HOURS_PER_MONTH, NANO, Price, Source, dollars

UNPRICED: Final = "unpriced"
NOTHING: Final = "–"
_USUAL_DECIMALS: Final = 4
#: From this amount on, so many decimals.
_DECIMALS: Final = ((NANO // 100, _USUAL_DECIMALS), (NANO // 10_000, 6), (0, 9))
_SIGNS: Final = {"USD": "$", "EUR": "€", "GBP": "£"}
_MONTHS_FROM_DAYS, _YEARS_FROM_DAYS = 60, 730
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_BINARY: Final = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


def money(nanodollars: int, currency: str = "USD") -> str:
    """An hourly price: four decimals, more only where four would show little of it."""
    amount = abs(nanodollars)
    decimals = next(places for least, places in _DECIMALS if amount >= least or not amount)
    whole, _, rest = f"{amount / NANO:.{decimals}f}".partition(".")
    text = f"{whole}.{rest.rstrip('0').ljust(_USUAL_DECIMALS, '0')}"
    minus = "-" if nanodollars < 0 else ""
    sign = _SIGNS.get(currency)
    return f"{minus}{sign}{text}" if sign else f"{minus}{text} {currency}"


def price(one: Price | None) -> str:
    return UNPRICED if one is None else money(one.nanodollars, one.source.currency)


def monthly(one: Price) -> str:
    """What a month of such hours costs."""
    cents = round(Fraction(one.nanodollars * HOURS_PER_MONTH * 100, NANO))
    sign = _SIGNS.get(one.source.currency)
    text = f"{cents // 100:,}.{cents % 100:02d}"
    return f"{sign}{text}" if sign else f"{text} {one.source.currency}"


def month(nanodollars: int) -> str:
    """What a month of hours at so much comes to, in whole cents."""
    cents = round(Fraction(abs(nanodollars) * HOURS_PER_MONTH * 100, NANO))
    return f"{'-' if nanodollars < 0 else ''}${cents // 100:,}.{cents % 100:02d}"


def number(nanodollars: int) -> float:
    """A price as the number JSON shows: the decimal people wrote, since nine places survive a double."""
    return float(dollars(nanodollars))


def amount(resource: str, value: int) -> str:
    """So much of a resource, short: `15890m`, `57.3 GiB`, `234`."""
    if resource in (resources.MEMORY, resources.EPHEMERAL_STORAGE) or resource.startswith(resources.HUGEPAGES):
        return size(value)
    return str(resources.quantity_of(resource, value))


def size(count: int) -> str:
    """Bytes in the largest unit that leaves a number of one or more."""
    for suffix, unit in _BINARY:
        if abs(count) >= unit:
            return f"{trimmed(count / unit)} {suffix}"
    return f"{count} B"


def trimmed(value: float) -> str:
    """At most two decimals, none that say nothing."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def duration(seconds: float) -> str:
    """A time as people say it: `40 s`, `12 min`, `3 h 20 min`, `2 days 4 h`; never is `never`."""
    if seconds == inf:
        return "never"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    units = (("day", _DAY), ("h", _HOUR), ("min", _MINUTE))
    at = next(at for at, (_, length) in enumerate(units) if whole >= length)
    whole = round(whole / _MINUTE) * _MINUTE if at else round(whole / _HOUR) * _HOUR
    parts = []
    for name, length in units[at : at + 2]:
        count, whole = divmod(whole, length)
        plural = "s" if name == "day" and count != 1 else ""
        parts += [f"{count} {name}{plural}"] if count else []
    return " ".join(parts)


def percent(share: float) -> str:
    return f"{share:+.1f}%"


def age(as_of: str | None, today: date) -> str:
    """How old a price is: `today`, `16 days old`, `4 months old`. Empty where nobody dated it."""
    try:
        then = date.fromisoformat((as_of or "")[:10])
    except ValueError:
        return as_of or ""
    days = (today - then).days
    if days < 0:
        return f"dated {then.isoformat()}"
    if days == 0:
        return "today"
    if days < _MONTHS_FROM_DAYS:
        return f"{days} day{'s' if days > 1 else ''} old"
    return f"{days // 30} months old" if days < _YEARS_FROM_DAYS else f"{days // 365} years old"


def told(source: Source, today: date) -> str:
    """Where a price is from and how old it is, in one phrase."""
    old = age(source.as_of, today)
    return f"{source.kind}, {old}" if old else str(source.kind)
