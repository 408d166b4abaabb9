"""Numbers that are written in words, as digits."""

import re
import unicodedata
from typing import Final

NUMBER: Final = r"(?<![\d])\d++(?:,\d{3}(?!\d))*+(?:\.\d++)?+"
"""A number as a whole: possessive, and never begun in the middle, so that a search costs one look at each digit."""

_UNITS = {
    word: value
    for value, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
}
_TENS = {
    word: 10 * value
    for value, word in enumerate(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], start=2
    )
}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_SAID = frozenset({*_UNITS, *_TENS, *_SCALES, "half"})
_SPANS = frozenset({"hour", "minute", "day", "week", "month", "year"})
_WORD = "|".join((*_UNITS, *_TENS, *_SCALES))
_WORDS = re.compile(rf"\b(?:{_WORD})(?:(?:[ -]|\sand\s)(?:{_WORD}))*\b", re.IGNORECASE)
_SCALED = re.compile(rf"({NUMBER})\s(hundred|thousand|million|billion)\b", re.IGNORECASE)
_ONE = re.compile(
    r"\b(?:one|an?)(?=\s(?:business\s|working\s)?(?:hour|minute|day|week|month|year)\b)", re.IGNORECASE
)
_HALF_OF = re.compile(r"\bhalf(?=\s(?:of\b|the\b|price\b))", re.IGNORECASE)

_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")}
_DIGITS |= {"〇": 0, "两": 2, "壹": 1, "贰": 2, "叁": 3, "肆": 4, "伍": 5, "陆": 6, "柒": 7, "捌": 8, "玖": 9}
_PLACES = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1_000, "仟": 1_000}
_MYRIADS = {"万": 10_000, "亿": 100_000_000}
_DIGIT = "".join(_DIGITS)
_PLACE = "".join((*_PLACES, *_MYRIADS))
_TIME = r"(?:个?(?:小时|钟头|月|星期|礼拜|工作日)|分钟|秒|天|日|号|周|年|点|时|刻)"
_MEASURED = re.compile(_TIME + "|[元块角]")
_COUNTED = rf"(?:{_TIME}|[个件张单次月元块角分名人位条笔份箱包瓶台部楼层期种项倍成岁折套双本页步只把辆间盒袋桶颗公千克斤米升度%])"
_HAN_RUN = re.compile(rf"(?<!第)([{_DIGIT}{_PLACE}]+)(点[{_DIGIT}]++(?![十分刻]))?(?=({_COUNTED})?)")
_NOT_NUMBERS = re.compile(
    r"千万(?=[别不要请勿])|万一|(?<![一二三四五六七八九])十分(?!钟|之)|一[些下般样定直起旦并切律同致共边面方再经]|[统唯]一|三心二意|千方百计|"
    r"一一|两者|不三不四|乱七八糟|四处|八卦|十足|万分|万事|百忙|千里之外|五金|百货"
)
_WEEKDAY = re.compile(r"(?:周|星期|礼拜)[一二三四五六日天]")
_PERCENT = re.compile(rf"百分之([{_DIGIT}{_PLACE}]+|\d+(?:\.\d+)?)(点[{_DIGIT}]+)?")
_MIXED = re.compile(rf"({NUMBER})([百千万亿]{{1,8}}+)(?![克米瓦])")
_HALF = re.compile(r"半(?=个?(?:小时|钟头|月|天|年))")
_SAME = (("百分百", "100%"), ("一半", "50%"), ("千克", "公斤"), ("千米", "公里"))
_LONGEST: Final = 40
"""Longer numerals with places are no number: with every 亿 it would have eight digits more."""

_KEPT = re.compile("\ue000(\\d+)\ue001")


def plain(text: str) -> str:
    """A decimal number without separators and idle zeros, exact at any length."""
    whole, _, part = "".join(map(_ascii, text.replace(",", ""))).partition(".")
    part = part.rstrip("0")
    return (whole.lstrip("0") or "0") + (f".{part}" if part else "")


def _ascii(mark: str) -> str:
    return mark if mark == "." else str(unicodedata.digit(mark))


def english(text: str, words: frozenset[str]) -> str:
    """`twenty-five days` as `25 days`. A single `one` stays: it is a pronoun as often as a number. words: of the text."""
    if not words.isdisjoint(_SPANS):
        text = _ONE.sub("1", text)
    if words.isdisjoint(_SAID):
        return text
    text = _HALF_OF.sub("50%", text)
    text = _WORDS.sub(_value_of_words, text)
    return _SCALED.sub(lambda found: _product(found[1], _SCALES[found[2].lower()]), text)


def _value_of_words(found: re.Match[str]) -> str:
    words = [word for word in re.split(r"[ -]", found[0].lower()) if word != "and"]
    if words == ["one"] or all(word in _SCALES for word in words):
        return found[0]
    if len(words) > 1 and all(word in _UNITS for word in words):  # one two three: said digit by digit
        return " ".join(str(_UNITS[word]) for word in words)
    total = part = 0
    for word in words:
        scale = _SCALES.get(word)
        if scale is None:
            part += _UNITS.get(word, 0) + _TENS.get(word, 0)
        elif scale == 100:
            part = max(part, 1) * 100
        else:
            total, part = total + max(part, 1) * scale, 0
    return str(total + part)


def chinese(text: str) -> str:
    """`三十天` as `30天`, `百分之二十` as `20%`, `3万元` as `30000元`; numerals inside words stay."""
    for word, same in _SAME:
        text = text.replace(word, same)
    text = _HALF.sub("0.5", text)
    text = _PERCENT.sub(lambda found: f"{_han(found[1])}{_fraction(found[2])}%", text)
    spared: list[str] = []

    def spare(found: re.Match[str]) -> str:
        spared.append(found[0])
        return f"\ue000{len(spared) - 1}\ue001"

    text = _NOT_NUMBERS.sub(spare, _WEEKDAY.sub(spare, text))
    text = _MIXED.sub(lambda found: _product(found[1], _myriad(found[2])), text)
    text = _HAN_RUN.sub(_value_of_numerals, text)
    return _KEPT.sub(lambda found: spared[int(found[1])], text)


def _value_of_numerals(found: re.Match[str]) -> str:
    run, fraction, counted = found[1], found[2], found[3]
    if not any(character in _DIGITS or character in "十拾百佰" for character in run):
        return found[0]  # 千, 万: a word, or part of a measure
    is_word = counted is None or (run == "一" and _MEASURED.fullmatch(counted) is None)
    if len(run) == 1 and not fraction and is_word:
        return found[0]
    return _han(run) + _fraction(fraction)


def _han(run: str) -> str:
    """The value of numerals; without places they are read digit by digit, with too many of them they stay."""
    if run.isascii() or run[0].isdigit():
        return run
    if not any(character in _PLACES or character in _MYRIADS for character in run):
        return "".join(str(_DIGITS[character]) for character in run)
    if len(run) > _LONGEST:
        return run
    total = section = digit = 0
    for character in run:
        if character in _DIGITS:
            digit = _DIGITS[character]
        elif character in _PLACES:
            section += (digit or 1) * _PLACES[character]
            digit = 0
        else:
            total, section, digit = (total + section + digit) * _MYRIADS[character], 0, 0
    return str(total + section + digit)


def _fraction(said: str | None) -> str:
    return "." + "".join(str(_DIGITS[character]) for character in said[1:]) if said else ""


def _myriad(places: str) -> int:
    value = 1
    for character in places:
        value *= (_PLACES | _MYRIADS)[character]
    return value


def _product(number: str, scale: int) -> str:
    """Exact: the point moves."""
    zeros = len(str(scale)) - 1
    whole, _, part = number.replace(",", "").partition(".")
    part = part.ljust(zeros, "0")
    return whole + part[:zeros] + (f".{part[zeros:]}" if part[zeros:] else "")
