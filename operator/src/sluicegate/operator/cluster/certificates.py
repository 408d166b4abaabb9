"""Certificates of the webhook: an authority of our own and what it signs, as a pure life cycle.

    nothing ─► authority + leaf ─► leaf anew at 2/3 of its life, or for other names
                    │ 2/3 of the authority's life
                    ▼
               the next authority is made and trusted, the old one still signs ─► after `settle`: the next one signs,
               the old one stays trusted until it expires

A leaf is served only once everybody had `settle` seconds to trust its signer, so no request fails during a rotation.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SKEW = timedelta(minutes=5)
"""Certificates are valid this long before they are made: clocks differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ages:
    """How long things live. settle: until everybody trusts a new authority."""

    authority: timedelta = timedelta(days=365)
    leaf: timedelta = timedelta(days=90)
    settle: timedelta = timedelta(minutes=30)


@dataclass(frozen=True, slots=True, repr=False)
class Pair:
    """PEM texts."""

    certificate: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Certificates:
    """What the Secret holds. upcoming: trusted, does not sign yet. former: certificates, still trusted."""

    authority: Pair
    leaf: Pair
    upcoming: Pair | None = None
    former: tuple[str, ...] = ()

    @property
    def bundle(self) -> str:
        """Every authority to trust, the newest first."""
        newest = (self.upcoming.certificate,) if self.upcoming else ()
        return "".join((*newest, self.authority.certificate, *self.former))


def kept(held: Certificates | None, names: frozenset[str], now: datetime, ages: Ages) -> Certificates:
    """What the Secret should hold now; `held` itself when nothing is to be done. names: DNS names and addresses."""
    if held is None or not _is_sound(held, now):
        return made(names, now, ages)
    return _leaf(_trust(held, now, ages), names, now, ages)


def made(names: frozenset[str], now: datetime, ages: Ages) -> Certificates:
    """Everything new."""
    authority = _authority(now, ages)
    return Certificates(authority=authority, leaf=_signed(authority, names, now, ages))


def _trust(held: Certificates, now: datetime, ages: Ages) -> Certificates:
    """The authorities' part."""
    alive = tuple(pem for pem in held.former if _read(pem).not_valid_after_utc > now)
    held = held if alive == held.former else replace(held, former=alive)
    if held.upcoming is not None:
        made_at = _read(held.upcoming.certificate).not_valid_before_utc + SKEW
        if now < made_at + ages.settle:
            return held
        former = (held.authority.certificate, *held.former)
        return replace(held, authority=held.upcoming, upcoming=None, former=former)
    if _is_old(held.authority.certificate, now):
        return replace(held, upcoming=_authority(now, ages))
    return held


def _leaf(held: Certificates, names: frozenset[str], now: datetime, ages: Ages) -> Certificates:
    certificate = _read(held.leaf.certificate)
    is_good = (
        not _is_old(held.leaf.certificate, now)
        and _names_of(certificate) == names
        and _is_signed(certificate, _read(held.authority.certificate))
    )
    return held if is_good else replace(held, leaf=_signed(held.authority, names, now, ages))


def _is_sound(held: Certificates, now: datetime) -> bool:
    """Every part reads, keys fit, and the authority that signs is valid."""
    try:
        pairs = [held.authority, held.leaf, *((held.upcoming,) if held.upcoming else ())]
        fitting = all(_public(pair.key) == _spki(_read(pair.certificate)) for pair in pairs)
        for pem in held.former:
            _read(pem)
        return fitting and _read(held.authority.certificate).not_valid_after_utc > now
    except (ValueError, TypeError):
        return False


def expires(leaf: Pair) -> datetime:
    """When the certificate stops being valid."""
    return _read(leaf.certificate).not_valid_after_utc


def _is_old(pem: str, now: datetime) -> bool:
    """Two thirds of its life are over."""
    certificate = _read(pem)
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return now >= begin + (end - begin) * 2 / 3


def _authority(now: datetime, ages: Ages) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"sluicegate webhook {now:%Y-%m-%d %H:%M:%S}")])
    built = (
        _builder(name, name, key.public_key(), now, ages.authority)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
    )
    return _pair(built.sign(key, hashes.SHA256()), key)


def _signed(authority: Pair, names: frozenset[str], now: datetime, ages: Ages) -> Pair:
    signer, key = _read(authority.certificate), ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sluicegate webhook")])
    life = min(ages.leaf, signer.not_valid_after_utc - now)
    built = (
        _builder(subject, signer.subject, key.public_key(), now, life)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.SubjectAlternativeName([_general(name) for name in sorted(names)]), critical=False
        )
    )
    return _pair(built.sign(_private(authority.key), hashes.SHA256()), key)


def _builder(
    subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey, now: datetime, life: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _names_of(certificate: x509.Certificate) -> frozenset[str]:
    found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = (str(address) for address in found.get_values_for_type(x509.IPAddress))
    return frozenset((*found.get_values_for_type(x509.DNSName), *addresses))


def _is_signed(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Pair(certificate.public_bytes(serialization.Encoding.PEM).decode(), secret.decode())


def _read(pem: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem.encode())


def _private(pem: str) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(pem.encode(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError("not an EC key")
    return key


def _public(pem: str) -> bytes:
    return _private(pem).public_key().public_bytes(_DER, _SPKI)


def _spki(certificate: x509.Certificate) -> bytes:
    return certificate.public_key().public_bytes(_DER, _SPKI)


_DER, _SPKI = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
