"""`transport.Transport` to an API server, over the pool that the kubeconfig describes."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import urllib3
from urllib3.exceptions import HTTPError, InsecureRequestWarning, MaxRetryError, ReadTimeoutError, SSLError

from sluicegate.console.transport import Answer, Call, checked_user
from sluicegate.contracts.errors import Unavailable

if TYPE_CHECKING:
    from sluicegate.console.cluster.access import Access

CONNECT_SECONDS = 10.0
_AGAIN = urllib3.Retry(
    total=4,
    connect=1,
    read=0,
    other=0,
    redirect=0,
    allowed_methods=None,
    status_forcelist=(429,),
    respect_retry_after_header=True,
    raise_on_status=False,
    backoff_factor=0.2,
)
"""A server that says when to come again has not done anything yet."""
_WARNING = re.compile(r'\d{3} \S+ "((?:[^"\\]|\\.)*)"')
_CHUNK = 65_536


class Https:
    """Requests of one caller. act_as: by impersonation, which the server may refuse."""

    def __init__(self, access: "Access", *, act_as: str | None = None, timeout: float = 30.0) -> None:
        self.access, self._timeout = access, timeout
        user = checked_user(act_as)
        self._impersonate = {"Impersonate-User": user} if user else {}

    def to(self, url: str, *, timeout: float) -> "Https":
        """Another server, which gets no credentials but those of the call."""
        other = replace(self.access, host=url, pool=urllib3.PoolManager(), authorization=lambda: None)
        return Https(other, timeout=timeout)

    @contextmanager
    def open(self, call: Call) -> Iterator[Answer]:
        """Send `call`."""
        url = self.access.host + call.path + (f"?{urlencode(call.query)}" if call.query else "")
        read = call.silence if call.streams else self._timeout
        response: Any = None
        try:
            with _quiet():
                response = self.access.pool.request(
                    call.method,
                    url,
                    body=call.body,
                    headers=self._headers(call),
                    preload_content=False,
                    timeout=urllib3.Timeout(connect=min(CONNECT_SECONDS, self._timeout), read=read),
                    retries=_AGAIN,
                )
            yield Answer(
                status=response.status,
                read=response.read,
                lines=lambda: _lines(response),
                warnings=tuple(_warnings(response.headers.getlist("Warning"))),
            )
        except (HTTPError, OSError) as error:
            raise Unavailable(self._down(error)) from error
        finally:
            if response is not None:
                response.close() if call.streams else response.release_conn()

    def _headers(self, call: Call) -> dict[str, str]:
        headers = {"Accept": "application/json", "User-Agent": "sluicegate", **self._impersonate}
        if call.body is not None:
            headers["Content-Type"] = call.content_type
        authorization = self.access.authorization()
        if authorization:
            headers["Authorization"] = authorization
        return headers | dict(call.headers)

    def _down(self, error: Exception) -> str:
        cause = error.reason if isinstance(error, MaxRetryError) and error.reason else error
        place = f"{self.access.host} (context {self.access.context})"
        if isinstance(cause, ReadTimeoutError):
            return f"{place} did not answer in {self._timeout:g} s"
        if isinstance(cause, SSLError):
            return f"{place} is not trusted: {cause}\nCheck certificate-authority of its cluster in the kubeconfig."
        return f"{place} cannot be reached: {_short(cause)}\nIs it up, and is this the right --context?"


@contextmanager
def _quiet() -> Iterator[None]:
    """Whoever wrote insecure-skip-tls-verify into the kubeconfig knows it; kubectl says nothing either."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureRequestWarning)
        yield


def _short(error: Exception) -> str:
    """Without the connection object that urllib3 puts in front."""
    return re.sub(r"^\S+Connection\(.*?\): |^<[^>]*>: ", "", str(error)) or type(error).__name__


def _warnings(headers: list[str]) -> Iterator[str]:
    """RFC 7234 §5.5: `299 - "text"`."""
    for header in headers:
        for text in _WARNING.findall(header):
            yield re.sub(r"\\(.)", r"\1", text)


def _lines(response: Any) -> Iterator[bytes]:
    rest = b""
    try:
        for chunk in response.stream(_CHUNK, decode_content=True):
            *whole, rest = (rest + chunk).split(b"\n")
            yield from whole
    except ReadTimeoutError:
        return
    if rest:
        yield rest
