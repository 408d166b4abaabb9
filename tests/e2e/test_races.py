"""People at the command line, at the same time and too late: real processes against a real `up`."""

from itertools import pairwise
from typing import Any

import pytest

from tests.e2e import life
from tests.e2e.life import in_state, rollout_of
from tests.e2e.users import cli, crowd, together
from tests.operator.samples import decision, staged
from tests.operator.up import Up, until

pytestmark = pytest.mark.e2e

REFUSED, ENDED = 2, 7
ORDER = ("Canary", "Shadow", "Controlled", "Full", "Draining")


def rolling(up: Up, url: str, name: str, needs: dict[str, int] | None = None) -> Any:
    """A workflow with a candidate in Canary."""
    up.apply(staged("1.0.0", url, name=name))
    life.serving(up, name)
    up.apply(staged("2.0.0", url, name=name, needs=needs or life.LONG))
    return in_state(up, "Canary", "2.0.0", name)


def settled(up: Up, name: str) -> Any:
    found = rollout_of(up, "2.0.0", name)
    assert found is not None
    return found["status"]


@pytest.mark.parametrize("name", ["race-1"])
def test_two_promotes_started_together_advance_one_stage(up: Up, url: str, name: str) -> None:
    rolling(up, url, name)
    for number, (stage, following) in enumerate(pairwise(ORDER[:4]), start=1):
        until(
            f"a promote out of {stage}",
            lambda: (
                sorted(code for code, _ in together(up, ("promote", name), ("promote", name))) == [0, REFUSED]
            ),
        )  # a pair that comes a moment after the last one is refused as a whole
        status = settled(up, name)
        assert status["state"] == following
        applied = [one for one in status["decisions"] if one["result"] == "Applied"]
        assert len(applied) == number
        assert {one["result"] for one in status["decisions"]} <= {"Applied", "Refused"}


def test_the_one_who_lost_is_told_why(up: Up, url: str) -> None:
    rolling(up, url, "told")
    said: dict[int, str] = {}

    def one_lost() -> bool:
        """Two that come one after the other both win, each out of the stage that it finds."""
        said.update(together(up, ("promote", "told"), ("promote", "told")))
        return said.keys() >= {0, REFUSED}

    until("one of two is refused", one_lost)
    assert any(text in said[REFUSED] for text in ("came first", "a moment ago", "made for stage")), said


STALE = {
    "another candidate": ({"candidate": "sha256:" + "0" * 64}, "made for candidate sha256:0000"),
    "another stage": ({"stage": "Full"}, "made for stage Full, now it is Canary"),
    "another attempt": ({"attempt": 7}, "made for attempt 7, now it is 1"),
    "no stage at all": ({"stage": None}, "must say for which stage it is meant"),
}


@pytest.mark.parametrize(("change", "told"), STALE.values(), ids=STALE)
def test_a_decision_for_something_else_is_refused_and_says_so(
    up: Up, url: str, change: dict[str, Any], told: str
) -> None:
    held = rollout_of(up, "2.0.0", "stale") or rolling(up, url, "stale")
    document = decision("stale", "Promote", held)
    document["spec"]["expected"] = {
        key: value for key, value in (document["spec"]["expected"] | change).items() if value is not None
    }
    code, answer = up.api("POST", "/apis/sluicegate.io/v1alpha1/namespaces/default/decisions", document)
    assert (code, answer["reason"]) == (422, "Invalid")
    assert told in str(answer["details"]["causes"])
    assert settled(up, "stale")["state"] == "Canary"
    assert settled(up, "stale").get("decisions", []) == []


def test_a_decision_about_a_rollout_that_has_ended_is_refused(up: Up, url: str) -> None:
    rolling(up, url, "ended")
    assert cli(up, "abort", "ended")[0] == 0
    in_state(up, "Done", "2.0.0", "ended")
    code, said = cli(up, "promote", "ended")
    assert code == REFUSED
    assert "ended-1 has ended Aborted" in said
    assert cli(up, "rollout", "status", "ended")[0] == ENDED


@pytest.mark.parametrize("name", ["duel-1", "duel-2"])
def test_abort_dominates_a_promote_of_the_same_moment(up: Up, url: str, name: str) -> None:
    held = rolling(up, url, name, needs={"Controlled": life.NEVER, "Full": life.NEVER})
    until("Controlled", lambda: crowd(up, name) and settled(up, name)["state"] == "Controlled")
    lines = (("promote", name), ("abort", name))
    said = together(up, *(lines if name != "duel-2" else reversed(lines)))
    assert 0 in {code for code, _ in said}
    done = in_state(up, "Done", "2.0.0", name)
    assert done["metadata"]["uid"] == held["metadata"]["uid"]
    assert done["status"]["outcome"] == "Aborted"
    assert crowd(up, name) == {"1.0.0": 24}
