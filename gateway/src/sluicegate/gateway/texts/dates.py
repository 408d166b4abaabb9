"""Dates and times of day inside a text, taken out of it."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_BY_NAME = {name: number for number, full in enumerate(_MONTHS, 1) for name in (full, full[:3])} | {"sept": 9}
_MONTH = r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
_ISO = re.compile(
    r"(?<![\d-])(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)(Z|[+-]\d{2}:?\d{2})?)?(?![\d-])"
)
_SLASHED = re.compile(r"(?<![\d/])(\d{4})[/.](\d{1,2})[/.](\d{1,2})(?![\d/])")
_MONTH_DAY = re.compile(
    rf"\b{_MONTH}\s(\d{{1,2}})(?:st|nd|rd|th)?\b(?![:.]\d)(?:,?\s(\d{{4}})\b)?", re.IGNORECASE
)
_DAY_MONTH = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH}(?![A-Za-z])(?:,?\s(\d{{4}})\b)?", re.IGNORECASE
)
_HAN_DATE = re.compile(r"(?:(\d{4})年)?(?<!\d)(\d{1,2})月(\d{1,2})[日号]?")
_HAN_MONTH = re.compile(r"(?<![\d个])(\d{1,2})月(?!\d)")
_CLOCK = re.compile(
    r"(?<![\d:.])(\d{1,2})(?::(\d{2}))?(?::\d{2})?\s?([ap])\.?m\b\.?|(?<![\d:])(\d{1,2}):(\d{2})(?::\d{2})?(?![\d:])",
    re.IGNORECASE,
)
_HAN_CLOCK = re.compile(
    r"(凌晨|早上|早晨|清晨|上午|中午|下午|傍晚|晚上|今晚|夜里)?(?<!\d)(\d{1,2})"
    r"(?:[点时](?:(\d{1,2})分|(半)|(\d)刻|整|钟)?|:(\d{2}))(?!\d)"
)
_LATE = frozenset({"下午", "傍晚", "晚上", "今晚", "夜里"})
_HALVES = frozenset({"am", "pm", "a", "p"})
_DAYS_OF_WEEK = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAY_WORDS = (
    {f"{day}{end}": day[:3] for day in _DAYS_OF_WEEK for end in ("", "s")}
    | {word: word for word in ("today", "tonight", "tomorrow", "yesterday", "noon", "midnight")}
    | {month: month for month in _MONTHS if month not in {"march", "may"}}
)
_WORD = re.compile(r"[a-z]+")
_SHORT_DAY = re.compile(r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b")
_HAN_DAY = re.compile(
    r"(?:周|星期|礼拜)([一二三四五六日天])|(今[天日]|明[天日]|后天|昨[天日]|前天|中午|午夜|当天)"
)
_HAN_WEEKDAYS = dict(zip("一二三四五六日天", (*(day[:3] for day in _DAYS_OF_WEEK), "sun"), strict=True))
_HAN_DAYS = {
    "今": "today", "明": "tomorrow", "后": "in two days", "昨": "yesterday", "前": "two days ago", "中": "noon",
    "午": "midnight", "当": "same day",
}  # fmt: skip


@dataclass(slots=True)
class _Taken:
    """What was found. Each `put` gives what stands in its place: a space, or the words themselves where they are no date."""

    dates: set[str] = field(default_factory=set)
    years: list[str] = field(default_factory=list)

    def put(self, year: str | None, month: int, day: int, whole: str) -> str:
        if not (1 <= month <= 12 and 1 <= day <= 31):
            return whole
        self.dates.add(f"{month:02}-{day:02}")
        if year:
            self.years.append(year)
        return " "

    def put_time(self, hour: int, minute: int, whole: str) -> str:
        if hour > 24 or minute > 59:
            return whole
        self.dates.add(f"{hour % 24:02}:{minute:02}")
        return " "


def take(text: str, words: frozenset[str], *, han: bool) -> tuple[set[str], list[str], str]:
    """Dates and times (`03-05`, `15:30`, `tue`), years, and the text without them. words: of the text."""
    taken = _Taken()
    text = _ISO.sub(lambda found: _iso(found, taken), text)
    text = _SLASHED.sub(lambda found: taken.put(found[1], int(found[2]), int(found[3]), found[0]), text)
    text = _chinese(text, taken) if han else text  # first: 下午3:30 is one time
    text = _english(text, words, taken)
    return taken.dates, taken.years, text


def _english(text: str, words: frozenset[str], taken: _Taken) -> str:
    if not words.isdisjoint(_BY_NAME):
        text = _MONTH_DAY.sub(
            lambda found: taken.put(found[3], _month(found[1]), int(found[2]), found[0]), text
        )
        text = _DAY_MONTH.sub(
            lambda found: taken.put(found[3], _month(found[2]), int(found[1]), found[0]), text
        )
    if not words.isdisjoint(_HALVES) or ":" in text:
        text = _CLOCK.sub(lambda found: taken.put_time(*_time(found), found[0]), text)
    if not words.isdisjoint(_DAY_WORDS):
        left = _WORD.findall(text.lower())
        taken.dates.update(_DAY_WORDS[word] for word in left if word in _DAY_WORDS)
    taken.dates.update(day.lower() for day in _SHORT_DAY.findall(text))
    return text


def _chinese(text: str, taken: _Taken) -> str:
    text = _HAN_DATE.sub(lambda found: taken.put(found[1], int(found[2]), int(found[3]), found[0]), text)
    text = _HAN_CLOCK.sub(lambda found: taken.put_time(*_han_time(found), found[0]), text)
    months = [int(month) for month in _HAN_MONTH.findall(text)]
    taken.dates.update(_MONTHS[month - 1] for month in months if 1 <= month <= 12)
    text = _HAN_MONTH.sub(" ", text)
    for weekday, day in _HAN_DAY.findall(text):
        taken.dates.add(_HAN_WEEKDAYS[weekday] if weekday else _HAN_DAYS[day[0]])
    return text


def _month(name: str) -> int:
    return _BY_NAME[name.lower()]


def _iso(found: re.Match[str], taken: _Taken) -> str:
    year, month, day, clock, zone = found[1], found[2], found[3], found[4], found[5]
    if clock and zone:
        try:
            at = datetime.fromisoformat(f"{year}-{month}-{day}T{clock}{zone}").astimezone(UTC)
        except (ValueError, OverflowError):
            return found[0]
        year, month, day, clock = f"{at.year}", f"{at.month}", f"{at.day}", f"{at.hour}:{at.minute}"
    if not taken.put(year, int(month), int(day), ""):
        return found[0]
    if clock:
        hour, minute = clock.split(":")[:2]
        taken.put_time(int(hour), int(minute), "")
    return " "


def _time(found: re.Match[str]) -> tuple[int, int]:
    if found[3] is None:
        return int(found[4]), int(found[5])
    hour = int(found[1]) % 12 + (12 if found[3].lower() == "p" else 0)
    return hour if int(found[1]) <= 12 else 99, int(found[2] or 0)


def _han_time(found: re.Match[str]) -> tuple[int, int]:
    hour = int(found[2])
    if found[1] in _LATE and hour < 12:
        hour += 12
    if found[1] == "中午" and hour < 3:
        hour += 12
    minute = 30 if found[4] else 15 * int(found[5]) if found[5] else int(found[3] or found[6] or 0)
    return hour, minute
