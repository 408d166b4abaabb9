"""When calls are tried again, what answers mean, who made an object: all pure."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.contracts.errors import (
    Conflict,
    Forbidden,
    NotFound,
    Problem,
    Refused,
    SluicegateError,
    Unavailable,
)
from sluicegate.operator.cluster import same
from sluicegate.operator.cluster.errors import code_of, error_of, status_of
from sluicegate.operator.cluster.ports import NotServed, Seen
from sluicegate.operator.cluster.retrying import (
    FIRST,
    LONGEST,
    NO_ANSWER,
    Failed,
    Failure,
    pause,
    seconds_of,
    tried,
)
from sluicegate.operator.cluster.watching import events_of
from sluicegate.operator.ports import ChangeType, Json
from sluicegate.operator.resources.store import Expired

PASSING = (NO_ANSWER, 429, 500, 502, 503, 504)
LASTING = (400, 401, 403, 404, 405, 409, 410, 413, 415, 422)


@pytest.mark.parametrize("code", PASSING)
def test_what_may_pass_is_tried_again_below_a_growing_limit(code: int) -> None:
    limits = [pause(Failure(code=code), attempt, jitter=lambda limit: limit) for attempt in range(9)]
    assert limits[:4] == [FIRST, FIRST * 2, FIRST * 4, FIRST * 8]
    assert limits[-1] == LONGEST
    assert pause(Failure(code=code), 1_000_000, jitter=lambda limit: limit) == LONGEST
    assert pause(Failure(code=code), 3, jitter=lambda _: 0.0) == 0.0, "full jitter: from nothing on"


@pytest.mark.parametrize("code", LASTING)
def test_what_lasts_is_not_tried_again(code: int) -> None:
    assert pause(Failure(code=code, retry_after=1), 0) is None
    assert not Failure(code=code).doubtful


def test_only_a_request_that_was_sent_away_is_certainly_not_done() -> None:
    assert [code for code in PASSING if not Failure(code=code).doubtful] == [429]


@given(st.sampled_from(PASSING), st.floats(0, 100), st.integers(0, 50), st.floats(0, 1))
def test_retry_after_is_the_least(code: int, after: float, attempt: int, luck: float) -> None:
    wait = pause(Failure(code=code, retry_after=after), attempt, jitter=lambda limit: limit * luck)
    assert wait is not None
    assert after <= wait <= after + LONGEST


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("1", 1.0), ("0", 0.0), (None, None), ("", None), ("soon", None), ("nan", None), ("inf", None)],
    ids=str,
)
def test_the_header_in_seconds(header: str | None, seconds: float | None) -> None:
    assert seconds_of(header) == seconds


# The shell


def failing(*outcomes: int | str) -> Callable[[], Any]:
    """An attempt with these outcomes in turn: a code, or an answer."""
    turns = iter(outcomes)

    async def attempt() -> str:
        outcome = next(turns)
        if isinstance(outcome, int):
            error: SluicegateError = Conflict("taken") if outcome == 409 else Unavailable(str(outcome))
            raise Failed(Failure(code=outcome), error)
        return outcome

    return attempt


async def echo(error: SluicegateError) -> str | None:
    return f"echo of {error}"


@pytest.mark.parametrize(
    ("outcomes", "answer"),
    [
        (("done",), "done"),
        ((503, NO_ANSWER, "done"), "done"),
        ((NO_ANSWER, 409), "echo of taken"),
        ((500, 429, 409), "echo of taken"),
    ],
    ids=["at-once", "later", "lost", "lost-before-a-pause"],
)
async def test_the_answer(outcomes: tuple[int | str, ...], answer: str) -> None:
    assert await tried(failing(*outcomes), seconds=30, echo=echo) == answer


@pytest.mark.parametrize("outcomes", [(409,), (429, 429, 409)], ids=["at-once", "after-being-sent-away"])
async def test_a_refusal_without_a_lost_answer_is_no_echo(outcomes: tuple[int, ...]) -> None:
    with pytest.raises(Conflict):
        await tried(failing(*outcomes), seconds=30, echo=echo)


async def test_a_refusal_that_is_not_our_echo_stands() -> None:
    async def not_ours(_: SluicegateError) -> str | None:
        return None

    with pytest.raises(Conflict):
        await tried(failing(NO_ANSWER, 409), seconds=30, echo=not_ours)


async def test_the_last_error_is_told_when_the_time_is_over() -> None:
    with pytest.raises(Unavailable, match=r"^503$"):
        await tried(failing(500, *[503] * 10_000), seconds=0.3)


async def test_an_attempt_that_hangs_ends_at_the_deadline() -> None:
    async def hang() -> str:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(Unavailable, match=r"no answer in 0\.05 s"):
        await tried(hang, seconds=0.05)


async def test_cancelling_is_not_a_failure_to_try_again() -> None:
    task = asyncio.ensure_future(tried(failing(*[503] * 10_000), seconds=60))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# What answers mean


def status(message: str = "no", **details: Any) -> Json:
    return {"kind": "Status", "message": message, "details": details}


@pytest.mark.parametrize(
    ("code", "told", "error"),
    [
        (400, status(), Refused),
        (401, status(), Forbidden),
        (403, status(), Forbidden),
        (404, status(name="a"), NotFound),
        (404, status(), NotServed),
        (404, {}, NotServed),
        (405, status(), Refused),
        (409, status(name="a"), Conflict),
        (410, status(), Expired),
        (413, status(), Refused),
        (422, status(), Refused),
        (422, status(causes=[{"field": "metadata.uid", "message": "immutable"}]), Conflict),
        (429, status(), Unavailable),
        (500, status(), Unavailable),
        (503, {}, Unavailable),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else None,
)
def test_every_code_has_its_error(code: int, told: Json, error: type[SluicegateError]) -> None:
    """The table of `cluster.ports`."""
    assert type(error_of(code, told, about="get /x")) is error


def test_causes_without_a_field_are_in_the_message_already() -> None:
    causes = [
        {"message": "whole"},
        {"field": "spec.a", "message": "must be 1"},
        {"field": "<nil>", "message": "b"},
    ]
    found = error_of(422, status("all", causes=causes * 2), about="x")
    assert isinstance(found, Refused)
    assert found.problems == (Problem(path="spec.a", message="must be 1"), Problem(path="", message="b"))
    found = error_of(403, status("all of it", causes=causes[:1]), about="x")
    assert isinstance(found, Forbidden)
    assert found.problems == (Problem(path="", message="all of it"),)


@pytest.mark.parametrize(
    "body", [None, b"", "404 page not found", b"[]", '{"kind": "Table"}', b"\xff"], ids=repr
)
def test_what_is_not_a_status_says_nothing(body: str | bytes | None) -> None:
    assert status_of(body) == {}


def test_an_apply_that_does_not_fit_is_meant_as_invalid() -> None:
    assert (
        code_of(500, status("failed to create typed patch object (a): .b: field not declared in schema"))
        == 422
    )
    assert code_of(500, status("etcdserver: leader changed")) == 500


# Whose object it is


def made(manager: str = "us", **more: Any) -> Json:
    managed = [{"manager": manager, "operation": "Update", "time": "2026-01-01T00:00:00Z"}]
    metadata = {"name": "a", "namespace": "x", "uid": "1", "resourceVersion": "5", "managedFields": managed}
    return {"apiVersion": "v1", "kind": "C", "metadata": metadata, "spec": {"a": 1, "b": [{"c": 2}]}, **more}


WANTED: Json = {
    "kind": "C",
    "metadata": {"name": "a", "labels": {}},
    "spec": {"b": [{"c": 2}]},
    "status": {"x": 1},
}


def test_an_object_with_everything_that_was_wanted_and_defaults_is_ours() -> None:
    assert same.was_made_from(made(), WANTED, "us")


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"b": [{"c": 3}]}},
        {"spec": {"b": [{"c": 2}, {"c": 2}]}},
        {"spec": {"b": [{"c": 2}], "z": None}},
        {"metadata": {"name": "a", "labels": {"x": "y"}}},
    ],
    ids=["value", "length", "key", "label"],
)
def test_an_object_that_lacks_something_is_not(change: Json) -> None:
    assert not same.was_made_from(made(), WANTED | change, "us")
    assert not same.was_made_from(made("them"), WANTED, "us")


def test_equal_but_for_when_and_which_version() -> None:
    later = made()
    later["metadata"] |= {"resourceVersion": "6"}
    later["metadata"]["managedFields"][0]["time"] = "2027-01-01T00:00:00Z"
    assert same.are_equal(made(), later)
    assert not same.are_equal(made(), made("them"))
    assert not same.are_equal(made(), made(spec={}))


# Lines of a watch


async def parsed(*chunks: bytes) -> list[Seen]:
    async def source() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    return [one async for one in events_of(source(), about="watch /x")]


LINES = (
    b'{"type":"ADDED","object":{"metadata":{"name":"\xc3\xbc","resourceVersion":"3"}}}\n'
    b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}\n\n'
    b'{"type":"DELETED","object":{"metadata":{"name":"a","resourceVersion":"10"}}}\n'
)


@given(st.lists(st.integers(0, len(LINES)), max_size=8))
def test_events_are_the_same_however_the_bytes_are_cut(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(LINES)]
    chunks = [LINES[start:end] for start, end in itertools.pairwise(edges)]
    found = asyncio.run(parsed(*chunks))
    assert [(one.type, one.version) for one in found] == [
        (ChangeType.ADDED, "3"),
        (None, "9"),
        (ChangeType.DELETED, "10"),
    ]
    assert found[0].item == {"metadata": {"name": "ü", "resourceVersion": "3"}}
    assert found[1].item is None


async def test_a_line_that_was_cut_off_does_not_count() -> None:
    assert len(await parsed(LINES[:-1])) == 2
