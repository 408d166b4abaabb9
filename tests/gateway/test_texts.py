"""Facts and similarity of texts in English and Chinese, on pairs written for it; hard inputs cost no more than long ones."""

import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.gateway.compare import compare
from sluicegate.gateway.texts import numbers
from sluicegate.gateway.texts.facts import facts_of
from sluicegate.gateway.texts.normal import normal
from sluicegate.gateway.texts.similarity import similarity
from tests.gateway.pairs import Pair
from tests.gateway.pairs_chinese import CHINESE
from tests.gateway.pairs_english import ENGLISH


@pytest.mark.parametrize("pair", [*ENGLISH, *CHINESE], ids=lambda pair: pair.why)
def test_facts_tell_what_a_careful_person_would(pair: Pair) -> None:
    found = compare(pair.one, pair.other)
    assert found.agrees is (pair.same is not pair.limit), found.differences
    assert compare(pair.other, pair.one).agrees is found.agrees


@pytest.mark.parametrize(
    ("language", "pairs", "right", "missed", "blamed"),
    [("English", ENGLISH, 103, 5, 6), ("Chinese", CHINESE, 110, 4, 4)],
)
def test_accuracy_of_the_facts_alone(
    language: str, pairs: Sequence[Pair], right: int, missed: int, blamed: int
) -> None:
    """missed: differences that no fact shows; blamed: paraphrases that are told different."""
    wrong = [pair for pair in pairs if compare(pair.one, pair.other).agrees is not pair.same]
    counts = (len(pairs) - len(wrong), sum(not p.same for p in wrong), sum(p.same for p in wrong))
    assert counts == (right, missed, blamed), language
    assert abs(sum(pair.same for pair in pairs) - len(pairs) / 2) <= 3  # balanced


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("三十天", "30天"), ("二百零五元", "205元"), ("一万二千元", "12000元"), ("三亿人", "300000000人"), ("十五件", "15件"),
        ("二〇二六年", "2026年"), ("百分之十二点五", "12.5%"), ("3万元", "30000元"), ("1.5亿元", "150000000元"), ("两个小时", "2个小时"),
        ("三点五十分", "3点50分"), ("半小时", "0.5小时"), ("五千克", "5公斤"), ("千万不要", "千万不要"), ("十分感谢", "十分感谢"), ("一起", "一起"),
        ("星期三", "星期三"), ("第三步", "第三步"), ("统一处理", "统一处理"),
    ],
)  # fmt: skip
def test_chinese_numerals_are_digits_where_they_are_numbers(said: str, value: str) -> None:
    assert numbers.chinese(said) == value


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("twenty-five", "25"), ("one hundred and twenty", "120"), ("two thousand three hundred", "2300"),
        ("three million", "3000000"), ("1.25 million", "1250000"), ("one of them", "one of them"),
        ("one two three", "1 2 3"), ("a week", "1 week"), ("half of it", "50% of it"), ("hundred", "hundred"),
    ],
)  # fmt: skip
def test_number_words_are_digits(said: str, value: str) -> None:
    assert numbers.english(said, frozenset(said.replace("-", " ").split())) == value


@pytest.mark.parametrize("said", ["一{}元", "3{}元", "百分之一{}", "{}"])
def test_numerals_that_are_no_number_are_taken_as_words(said: str) -> None:
    """A model that repeats itself says numbers of 8,000 digits and more, which Python does not write."""
    text = said.format("亿" * 2_000)
    assert facts_of(text).differing(facts_of(text)) == ()
    assert not compare(f"订单4512的价格是{text}", f"订单4513的价格是{text}").agrees


def test_long_numbers_keep_every_digit() -> None:
    many = "1234567890" * 6
    assert not compare(
        f"The number of the case is {many}.", f"The number of the case is {many[:-1]}1."
    ).agrees


@pytest.mark.parametrize(
    ("one", "other", "agrees"),
    [
        ("שלום, ההזמנה 4512 יוצאת היום אליך", "שלום, ההזמנה 4512 יוצאת היום אליך!", True),
        ("שלום, ההזמנה 4512 יוצאת היום אליך", "שלום, ההזמנה 4513 יוצאת היום אליך", False),
        ("طلبك رقم ٤٥١٢ سيصل إليك غدا", "طلبك رقم 4512 سيصل إليك غدا", True),
        ("🎉🎉 您的订单已经发货了 👍🏽 see you", "您的订单已经发货了，see you", True),
        ("您的order 4512已经发货，ETA周一下午", "您的order 4512已经发货, ETA星期一下午", True),
        ("您的order 4512已经发货，ETA周一下午", "您的order 4512已经发货, ETA周二下午", False),
        ("e\u0301te\u0301 est fini, bonne soirée à tous", "été est fini, bonne soirée à tous", True),
        ("\u200fabc def ghi jkl\u200e", "abc def ghi jkl", True),
        ("\ue0007\ue001 ab cd ef", "\ue0009\ue001 ab cd ef", False),
    ],
)
def test_mixed_languages_emoji_and_right_to_left(one: str, other: str, agrees: bool) -> None:
    assert compare(one, other).agrees is agrees


HARD = (
    "1", "1,", "1.", "1-", "a-", "a@", "aa@b.", "一二三", "不批准", "没有", "三点", "百分之", "先", "从", "从a到", "在", "before a, ",
    "after ", "from a to ", "sorry ", "I can't ", "one hundred ", "deadbeef-0000-", "2026-01-01T00:00:00+00:00 ", "'", "#", "$1 ",
    "1:0 ", "1 h", "not ", "\ue0001", "A ",
)  # fmt: skip


@pytest.mark.parametrize("seed", HARD)
def test_the_work_grows_with_the_length_only(seed: str) -> None:
    """Counted, not timed: eight times the text makes at most about eight times the calls and matches of Python code."""
    short, long = (_lines(seed * (size // len(seed))) for size in (500, 4000))
    assert long <= 12 * short + 2_000


def _lines(text: str) -> int:
    count = 0

    def trace(_frame: object, event: str, _arg: object) -> object:
        nonlocal count
        count += event in {"call", "line"}
        return trace

    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        facts_of.__wrapped__(normal(text))
    finally:
        sys.settrace(before)
    return count


@given(st.text(), st.text())
def test_similarity_is_a_symmetric_share(one: str, other: str) -> None:
    one, other = normal(one), normal(other)
    assert similarity(one, one) == 1.0
    assert 0.0 <= similarity(one, other) <= 1.0
    assert similarity(one, other) == similarity(other, one)


CHARACTERS = st.text(
    "不没有未通过批准拒绝1234567890.,:;-年月日点半三十百千万从到先再前后 abcNotbeforfirst$￥%@#'\"\ue000\ue001",
    max_size=80,
)


@given(CHARACTERS, CHARACTERS)
def test_any_text_has_facts(one: str, other: str) -> None:
    left, right = facts_of(normal(one)), facts_of(normal(other))
    assert left.differing(left) == ()
    assert bool(left.differing(right)) is bool(right.differing(left))
