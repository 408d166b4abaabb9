"""Amounts of money and of other things, with their units, taken from a text whose numbers are digits."""

import re
from collections.abc import Iterator
from typing import Final

from sluicegate.gateway.texts.numbers import NUMBER, plain

_CODES: Final = [
    "usd",
    "eur",
    "gbp",
    "jpy",
    "cny",
    "rmb",
    "hkd",
    "chf",
    "cad",
    "aud",
    "inr",
    "krw",
    "sgd",
    "twd",
]
_CURRENCIES = {code: code.upper() for code in _CODES} | {
    "rmb": "CNY", "$": "USD", "us$": "USD", "hk$": "HKD", "dollar": "USD", "dollars": "USD", "美元": "USD", "美金": "USD",
    "€": "EUR", "euro": "EUR", "euros": "EUR", "欧元": "EUR", "£": "GBP", "pound": "GBP", "pounds": "GBP", "英镑": "GBP",
    "yen": "JPY", "日元": "JPY", "日圆": "JPY", "yuan": "CNY", "元": "CNY", "块": "CNY", "块钱": "CNY", "人民币": "CNY",
    "元人民币": "CNY", "港元": "HKD", "港币": "HKD", "₩": "KRW", "₹": "INR", "%": "%", "percent": "%", "per cent": "%",
}  # fmt: skip
_CODE = "|".join(_CODES)
_BEFORE = re.compile(rf"(US\$|HK\$|[$€£¥₩₹]|\b(?:{_CODE})(?![A-Za-z])|人民币)\s?({NUMBER})", re.IGNORECASE)
_AFTER = re.compile(
    rf"({NUMBER})\s?(%|per\s?cent\b|dollars?\b|euros?\b|pounds?\b|yen\b|yuan\b|(?:{_CODE})(?![A-Za-z])|[$€£¥₩₹]|"
    r"元人民币|美元|美金|欧元|英镑|日元|日圆|港元|港币|元|块钱|块|人民币)",
    re.IGNORECASE,
)
_SYMBOLS = "$€£¥₩₹"
_NAMED = frozenset({*_CODES, "dollar", "dollars", "euro", "euros", "yen", "yuan"})
_HAN_NAMED = ("美元", "欧元", "英镑", "日元", "港币", "人民币")
_WORD = re.compile(r"[a-z]+")
_SIGN = re.compile(r"[$€£¥₩₹%元块美欧英日港人]")
_SPOKEN = frozenset(
    {*_CODES, "dollar", "dollars", "euro", "euros", "pound", "pounds", "yen", "yuan", "percent", "cent"}
)
_UNITS = {
    "second": "seconds? secs? 秒钟 秒",
    "minute": "minutes? mins? 分钟",
    "hour": "hours? hrs? h 个小时 小时 个钟头 钟头",
    "workday": "business\\sdays? working\\sdays? workdays? 个工作日 工作日",
    "day": "days? 天 日",
    "week": "weeks? 个星期 星期 个礼拜 礼拜 周",
    "month": "months? 个月",
    "year": "years? yrs? 年",
    "kg": "kg kgs kilograms? kilos? 公斤 千克",
    "g": "g grams? 克",
    "mg": "mg milligrams? 毫克",
    "lb": "lbs? ",
    "oz": "oz ounces?",
    "jin": "斤",
    "km": "km kilomet(?:re|er)s? 公里 千米",
    "m": "m met(?:re|er)s? 米",
    "cm": "cm centimet(?:re|er)s? 厘米",
    "mm": "mm millimet(?:re|er)s? 毫米",
    "mile": "miles? 英里",
    "l": "l lit(?:re|er)s? 升",
    "ml": "ml millilit(?:re|er)s? 毫升",
    "kb": "kb",
    "mb": "mb",
    "gb": "gb",
    "tb": "tb",
    "degree": "degrees? 摄氏度 度",
    "zhe": "折",
    "point": "points? 积分",
}
_BY_UNIT = [
    (re.compile(pattern, re.IGNORECASE), name) for name, words in _UNITS.items() for pattern in words.split()
]
_LATIN = "|".join(
    sorted(
        (word for words in _UNITS.values() for word in words.split() if word.isascii()), key=len, reverse=True
    )
)
_HAN = "|".join(
    sorted(
        (word for words in _UNITS.values() for word in words.split() if not word.isascii()),
        key=len,
        reverse=True,
    )
)
_UNIT = re.compile(rf"({NUMBER})(?:[\s-]?({_LATIN})(?![A-Za-z])|\s?({_HAN}))", re.IGNORECASE)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d{2}年")


def take(text: str, words: frozenset[str], *, han: bool) -> tuple[set[str], set[str], list[str], str]:
    """Money (`USD 120`), other amounts (`30 day`), their numbers, and the text without them.

    A currency that is only named counts as well. ¥ is CNY in a Chinese text.
    """
    yen = "CNY" if han else "JPY"
    money: set[str] = set()
    amounts: set[str] = set()
    numbers: list[str] = []

    def put(number: str, word: str) -> str:
        value = plain(number)
        numbers.append(value)
        said = " ".join(word.casefold().split())
        money.add(f"{_CURRENCIES.get(said, yen if said == '¥' else said)} {value}")
        return " "

    def put_amount(found: re.Match[str]) -> str:
        value = plain(found[1])
        numbers.append(value)
        amounts.add(f"{value} {_unit(found[2] or found[3])}")
        return " "

    if _SIGN.search(text) or not words.isdisjoint(_SPOKEN):
        text = _BEFORE.sub(lambda found: put(found[2], found[1]), text)
        text = _AFTER.sub(lambda found: put(found[1], found[2]), text)
        money |= {_CURRENCIES.get(word.casefold(), yen) for word in _bare(text)}
    if han:
        text = _YEAR.sub(lambda found: found[0][:-1] + " ", text)
    return money, amounts, numbers, _UNIT.sub(put_amount, text)


def _bare(text: str) -> Iterator[str]:
    """Currencies that are named without an amount."""
    yield from (symbol for symbol in _SYMBOLS if symbol in text)
    yield from _NAMED.intersection(_WORD.findall(text.lower()))
    yield from (name for name in _HAN_NAMED if name in text)


def _unit(word: str) -> str:
    return next(name for pattern, name in _BY_UNIT if pattern.fullmatch(word))
