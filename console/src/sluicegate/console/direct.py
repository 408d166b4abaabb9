"""HTTP from the standard library, straight to the address: no proxy of the environment stands between."""

from http.client import HTTPResponse
from urllib.request import OpenerDirector, ProxyHandler, Request, build_opener


def opened(asked: Request | str, seconds: float) -> HTTPResponse:
    """The answer, to be closed. HTTPError for a status of 400 and more, else URLError or OSError."""
    opener: OpenerDirector = build_opener(ProxyHandler({}))
    answer: HTTPResponse = opener.open(asked, timeout=seconds)
    return answer
