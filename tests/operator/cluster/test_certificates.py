"""The life of the webhook's certificates with a clock that is moved; judged by OpenSSL as a client would."""

import asyncio
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from sluicegate.contracts.adapters import system
from sluicegate.operator.cluster import certificates
from sluicegate.operator.cluster.certificates import Ages, Certificates, Pair

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
NAMES = frozenset({"sluicegate-webhook.sluicegate-system.svc", "127.0.0.1"})
AGES = Ages()


def kept(held: Certificates | None, after: timedelta, names: frozenset[str] = NAMES) -> Certificates:
    return certificates.kept(held, names, BEGIN + after, AGES)


def test_a_life_of_three_years_is_without_a_gap() -> None:
    """Looked at every six hours: a leaf always verifies against what was published `settle` ago, and is never late."""
    held = kept(None, timedelta())
    published, authorities = [held.bundle], {held.authority.certificate}
    leaves = {held.leaf.certificate}
    step = timedelta(hours=6)
    for look in range(1, 3 * 365 * 4):
        now = BEGIN + look * step
        before = held
        held = certificates.kept(held, NAMES, now, AGES)
        if held is before:
            continue
        leaf = x509.load_pem_x509_certificate(held.leaf.certificate.encode())
        assert leaf.not_valid_after_utc > now
        trusted = {one.subject for one in x509.load_pem_x509_certificates(published[-1].encode())}
        assert leaf.issuer in trusted, "signed by whom everybody trusted at the look before"
        published.append(held.bundle)
        authorities.add(held.authority.certificate)
        leaves.add(held.leaf.certificate)
    assert len(authorities) in (4, 5), "a year each, replaced at two thirds"
    assert len(leaves) >= 3 * 365 / 60
    assert len(x509.load_pem_x509_certificates(held.bundle.encode())) <= 3, "expired ones are dropped"


def test_nothing_changes_when_nothing_is_due() -> None:
    held = kept(None, timedelta())
    assert kept(held, timedelta(days=59)) is held


def test_a_leaf_is_renewed_after_two_thirds_of_its_life() -> None:
    held = kept(None, timedelta())
    renewed = kept(held, timedelta(days=61))
    assert renewed.leaf != held.leaf
    assert renewed.authority == held.authority


def test_a_leaf_is_renewed_for_other_names() -> None:
    held = kept(None, timedelta())
    other = kept(held, timedelta(), NAMES | {"operator.example.org"})
    assert other.leaf != held.leaf
    assert kept(other, timedelta(), NAMES | {"operator.example.org"}) is other


def test_the_next_authority_is_trusted_before_it_signs() -> None:
    held = kept(None, timedelta())
    due = timedelta(days=244)
    trusted = kept(held, due)
    assert trusted.upcoming is not None
    assert trusted.upcoming.certificate in trusted.bundle
    assert trusted.authority == held.authority
    soon = due + AGES.settle - timedelta(minutes=1)
    assert kept(trusted, soon) is trusted, "until everybody trusts it, the old one signs"
    signing = kept(trusted, due + AGES.settle)
    assert signing.authority == trusted.upcoming
    assert signing.leaf != trusted.leaf
    assert held.authority.certificate in signing.bundle, "leaves that other replicas still serve stay trusted"


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(lambda held: Pair("", held.leaf.key), id="no certificate"),
        pytest.param(lambda held: Pair(held.leaf.certificate, held.authority.key), id="another's key"),
        pytest.param(lambda held: Pair("-----BEGIN CERTIFICATE-----\nx\n", held.leaf.key), id="no PEM"),
    ],
)
def test_what_cannot_be_used_is_made_anew(broken: Callable[[Certificates], Pair]) -> None:
    held = kept(None, timedelta())
    unsound = Certificates(authority=held.authority, leaf=broken(held))
    assert kept(unsound, timedelta()).leaf not in (held.leaf, unsound.leaf)


def test_an_authority_that_expired_while_nobody_looked_is_made_anew() -> None:
    held = kept(None, timedelta())
    assert kept(held, timedelta(days=400)).authority != held.authority


async def test_a_client_that_trusts_the_bundle_only_accepts_name_and_address(tmp_path: Path) -> None:
    held = certificates.made(NAMES, system.now(), AGES)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    (tmp_path / "pair.pem").write_text(f"{held.leaf.certificate}{held.leaf.key}")
    serving.load_cert_chain(tmp_path / "pair.pem")
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=serving)
    port = server.sockets[0].getsockname()[1]
    trusting = ssl.create_default_context(cadata=held.bundle)
    for name in NAMES:
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting, server_hostname=name)
        writer.close()
    with pytest.raises(ssl.SSLCertVerificationError):
        await asyncio.open_connection("127.0.0.1", port, ssl=trusting, server_hostname="other.svc")
    server.close()
    await server.wait_closed()
