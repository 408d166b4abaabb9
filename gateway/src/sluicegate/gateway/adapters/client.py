"""Which HTTP client: by name, else the fastest that is installed."""

from sluicegate.gateway.ports import HttpClient


def make_client(name: str | None = None) -> HttpClient:
    """name: reqwest, aiohttp, or None for the first of them that can be imported."""
    if name != "aiohttp":
        try:
            from sluicegate.gateway.adapters.reqwest import ReqwestClient  # noqa: PLC0415 - optional on this host
        except ImportError:
            if name is not None:
                raise
        else:
            return ReqwestClient()
    from sluicegate.gateway.adapters.aiohttp_client import AiohttpClient  # noqa: PLC0415 - only when needed

    return AiohttpClient()
