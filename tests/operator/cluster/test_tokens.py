"""Tokens of sources from Secrets: read when needed, said nowhere."""

import base64

import pytest

from sluicegate.contracts.errors import Forbidden, NotFound, Problem
from sluicegate.contracts.resources.source import SourceCredential
from sluicegate.operator.cluster.ports import SECRETS, Api
from sluicegate.operator.cluster.tokens import ClusterTokens
from sluicegate.operator.ports import Json

WANTED = SourceCredential.model_validate({"secretKeyRef": {"name": "prom", "key": "token"}})


class Secrets:
    """`KubeReader.get` of one Secret."""

    def __init__(self, answer: Json | Exception) -> None:
        self.answer, self.asked = answer, list[tuple[Api, str | None, str]]()

    async def get(self, api: Api, namespace: str | None, name: str) -> Json:
        self.asked.append((api, namespace, name))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def data(**values: str) -> Json:
    return {"data": {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}}


async def test_exactly_the_named_secret_is_read() -> None:
    secrets = Secrets(data(token="s3cret\n", other="x"))
    assert await ClusterTokens(secrets).token("shop", WANTED) == "s3cret"  # type: ignore[arg-type]
    assert secrets.asked == [(SECRETS, "shop", "prom")]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (NotFound("secrets prom"), "Secret shop/prom does not exist"),
        (data(other="x"), "Secret shop/prom has no token under token"),
        ({"data": {"token": "%%%"}}, "has no token under token"),
        ({"data": {"token": base64.b64encode(b"\xff").decode()}}, "has no token under token"),
        ({}, "has no token under token"),
    ],
)
async def test_its_lack_is_told_by_name(answer: Json | Exception, words: str) -> None:
    with pytest.raises(NotFound, match=words):
        await ClusterTokens(Secrets(answer)).token("shop", WANTED)  # type: ignore[arg-type]


async def test_the_environment_of_the_operator_is_nobody_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICEGATE_SOURCE_A", "s3cret")
    with pytest.raises(NotFound, match="is for local mode"):
        await ClusterTokens(Secrets({})).token(  # type: ignore[arg-type]
            "shop", SourceCredential(env="SLUICEGATE_SOURCE_A")
        )


async def test_what_may_not_be_read_is_forbidden() -> None:
    refused = Forbidden((Problem(path="secrets", message="no"),))
    with pytest.raises(Forbidden):
        await ClusterTokens(Secrets(refused)).token("shop", WANTED)  # type: ignore[arg-type]
