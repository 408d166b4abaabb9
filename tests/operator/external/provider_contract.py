"""What every provider does, whatever it asks: the behaviours that the one policy above them rests on."""

import gzip
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from sluicegate.operator.external import providers
from sluicegate.operator.external.http import MOST_BYTES, Fetcher
from sluicegate.operator.ports import Question
from sluicegate.rollout.measurements import Inquiry, Outcome, Reading
from tests.operator.external.http_stub import Answer, cut, said, serving, silent

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class ProviderContract:
    """Of one provider; a subclass says how it writes what it is asked to say."""

    kind: str
    text: str

    def number(self, written: str) -> str:
        """A document in which the number at `text` is written so (JSON)."""
        raise NotImplementedError

    def nothing(self) -> str:
        """A document without a number."""
        raise NotImplementedError

    @pytest.fixture
    async def fetcher(self) -> AsyncIterator[Fetcher]:
        found = Fetcher()
        yield found
        await found.close()

    async def read(
        self, fetcher: Fetcher, url: str, *texts: str, seconds: float = 5.0, token: str | None = None
    ) -> tuple[Reading, ...]:
        inquiry = Inquiry(
            arm="candidate", url=url, texts=tuple(("value", text) for text in texts or (self.text,))
        )
        question = Question(inquiry=inquiry, at=AT, max_age_seconds=60, timeout_seconds=seconds, token=token)
        return await providers(fetcher)[self.kind].read(question)

    async def said(self, fetcher: Fetcher, answer: Answer, seconds: float = 5.0) -> Reading:
        async with serving(answer) as stub:
            (found,) = await self.read(fetcher, stub.url, seconds=seconds)
        return found

    @pytest.mark.parametrize(("written", "value"), [('"1.5"', 1.5), ('"0"', 0.0), ('"-2e3"', -2000.0)])
    async def test_a_number(self, fetcher: Fetcher, written: str, value: float) -> None:
        assert await self.said(fetcher, said(self.number(written))) == Reading(Outcome.VALUE, value)

    @pytest.mark.parametrize("written", ['"NaN"', '"+Inf"', '"-Inf"'])
    async def test_a_number_that_is_none(self, fetcher: Fetcher, written: str) -> None:
        found = await self.said(fetcher, said(self.number(written)))
        assert (found.outcome, found.value) == (Outcome.NON_FINITE, None)

    @pytest.mark.parametrize("written", ['"many"', '""', "[]", "{}", "true"])
    async def test_no_number(self, fetcher: Fetcher, written: str) -> None:
        found = await self.said(fetcher, said(self.number(written)))
        assert (found.outcome, found.value) == (Outcome.AMBIGUOUS, None)

    async def test_no_data(self, fetcher: Fetcher) -> None:
        found = await self.said(fetcher, said(self.nothing()))
        assert found.outcome is Outcome.NO_DATA

    @pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 429, 500, 502, 503])
    async def test_a_status_that_is_no_answer(self, fetcher: Fetcher, status: int) -> None:
        found = await self.said(fetcher, said("<html>no", status, "text/html"))
        assert found.outcome is Outcome.ERROR
        assert str(status) in found.message

    async def test_no_answer_in_time(self, fetcher: Fetcher) -> None:
        assert (await self.said(fetcher, silent, seconds=0.1)).outcome is Outcome.TIMEOUT

    async def test_an_answer_that_breaks_off(self, fetcher: Fetcher) -> None:
        assert (await self.said(fetcher, cut)).outcome is Outcome.ERROR

    @pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"null", b"[1]", b'"1.5"', b"1"])
    async def test_garbage_is_no_number(self, fetcher: Fetcher, body: bytes) -> None:
        found = await self.said(fetcher, said(body))
        assert found.outcome in {Outcome.ERROR, Outcome.NO_DATA, Outcome.AMBIGUOUS}
        assert found.value is None

    async def test_an_answer_without_end_is_cut_off(self, fetcher: Fetcher) -> None:
        found = await self.said(fetcher, said(b" " * (MOST_BYTES + 1) + self.number('"1"').encode()))
        assert found.outcome is Outcome.ERROR
        assert "longer than" in found.message

    async def test_what_unpacks_without_end_is_cut_off(self, fetcher: Fetcher) -> None:
        packed = gzip.compress(b" " * (20 * MOST_BYTES))
        assert len(packed) < MOST_BYTES
        found = await self.said(fetcher, said(packed, encoding="gzip"))
        assert found.outcome is Outcome.ERROR

    async def test_redirects_are_not_followed(self, fetcher: Fetcher) -> None:
        async with serving(said(self.number('"1"'))) as other:
            found = await self.said(fetcher, said("", 302, location=f"{other.url}/"))
            assert found.outcome is Outcome.ERROR
            assert "redirects are not followed" in found.message
            assert other.seen == []

    async def test_nobody_listens(self, fetcher: Fetcher) -> None:
        async with serving(silent) as gone:
            url = gone.url
        (found,) = await self.read(fetcher, url)
        assert found.outcome is Outcome.ERROR
        assert "not reached" in found.message

    async def test_a_host_that_there_is_not(self, fetcher: Fetcher) -> None:
        (found,) = await self.read(fetcher, "http://no-such-host.invalid")
        assert found.outcome is Outcome.ERROR

    async def test_the_token_is_sent_and_never_said(self, fetcher: Fetcher) -> None:
        async with serving(said("no", 403)) as stub:
            (found,) = await self.read(fetcher, stub.url, token="s3cret")
            (request,) = stub.seen
        assert request.headers["Authorization"] == "Bearer s3cret"
        assert "s3cret" not in repr(found)

    async def test_every_text_has_its_own_reading(self, fetcher: Fetcher) -> None:
        async with serving(said(self.number('"7"'))) as stub:
            found = await self.read(fetcher, stub.url, self.text, self.text)
        assert found == (Reading(Outcome.VALUE, 7.0), Reading(Outcome.VALUE, 7.0))
