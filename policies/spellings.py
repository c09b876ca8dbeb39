"""The ways in which people write one and the same value. Every spelling names that value and no other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date

__all__ = ["number_text", "spellings"]

_NUMBER = re.compile(r"(-?)(0|[1-9]\d{0,17})(?:\.(\d{1,6}))?")
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)(?::00)?")
_ADDRESS = re.compile(r"(?:https?://)?([\w-]+(?:\.[\w-]+)+(?::\d+)?(?:/\S*?)?)/?")
_HANDLE = re.compile(r"[#@]([\w.-]+)")
_LONG_CODE = re.compile(r"(?=.*\d)[a-z\d]{4}(?: ?[a-z\d]{4}){2,7}(?: ?[a-z\d]{1,3})?")
_MONTHS = ("january february march april may june july august september october november december").split()  # noqa: SIM905


def number_text(value: int | float) -> str:
    """A number as canonical text: 1.0 is `1`, as in the digest of an action."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value).lower()


def spellings(text: str) -> list[str]:
    """How a value (in normal form) may be written in a text, itself first.

    - numbers: `1000` as 1,000 or 1 000 or 1'000 or 1000.00; `12.5` as 12.50 or 12,5
    - days: `2024-05-15` as May 15, 2024 or 15 May 2024 or 15.05.2024 …, always with the year
    - times: `14:30` as 2:30 pm or 2:30pm; `14:00` also as 2 pm
    - addresses on the web: with http://, https:// or neither, with or without a slash at the end
    - long codes such as IBANs: in groups of four or in one piece
    - `#name` and `@name`: also without the sign
    """
    found = [text]
    if match := _NUMBER.fullmatch(text):
        found += _numbers(*match.groups(default=""))
    elif match := _DATE.fullmatch(text):
        found += _days(*(int(part) for part in match.groups()))
    elif match := _TIME.fullmatch(text):
        found += _times(int(match[1]), int(match[2]))
    elif match := _ADDRESS.fullmatch(text):
        found += [f"{scheme}{match[1]}{end}" for scheme in ("", "http://", "https://") for end in ("", "/")]
    elif match := _HANDLE.fullmatch(text):
        found.append(match[1])
    if _LONG_CODE.fullmatch(text):
        found += _codes(text.replace(" ", ""))
    return list(dict.fromkeys(found))


def _numbers(sign: str, whole: str, fraction: str) -> Iterable[str]:
    fraction = fraction.rstrip("0")
    tails = ["", ".0", ".00"] if not fraction else [f".{fraction}", f",{fraction}"]
    if len(fraction) == 1:
        tails += [f".{fraction}0", f",{fraction}0"]
    for comma in ("", ",", " ", "'"):
        grouped = f"{int(whole):,}".replace(",", comma)
        yield from (f"{sign}{grouped}{tail}" for tail in tails)


def _days(year: int, month: int, day: int) -> Iterable[str]:
    try:
        date(year, month, day)
    except ValueError:
        return
    suffix = "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    name = _MONTHS[month - 1]
    for month_name in (name, name[:3]):
        for day_name in (f"{day}", f"{day:02}", f"{day}{suffix}"):
            yield f"{month_name} {day_name}, {year}"
            yield f"{month_name} {day_name} {year}"
            yield f"{day_name} {month_name} {year}"
            yield f"{day_name} of {month_name} {year}"
            yield f"{day_name} of {month_name}, {year}"
    yield f"{day:02}.{month:02}.{year}"
    yield f"{day}.{month}.{year}"
    yield f"{year}/{month:02}/{day:02}"


def _times(hour: int, minute: int) -> Iterable[str]:
    half, short = ("am" if hour < 12 else "pm"), (hour % 12 or 12)
    yield f"{hour:02}:{minute:02}"
    yield f"{hour}:{minute:02}"
    clocks = [f"{short}:{minute:02}"] + ([f"{short}"] if minute == 0 else [])
    yield from (f"{clock}{gap}{half}" for clock in clocks for gap in ("", " "))


def _codes(compact: str) -> Iterable[str]:
    yield compact
    yield " ".join(compact[at : at + 4] for at in range(0, len(compact), 4))
