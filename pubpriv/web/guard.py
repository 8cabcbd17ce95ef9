"""What every request passes first: who asks, from which page, and what a browser may do with the answer.

| danger | what stops it |
|---|---|
| another machine | the server listens on 127.0.0.1 alone |
| another user of this machine | a random token, which the link has, and then a cookie that scripts cannot read |
| a web page that sends forms here | the cookie is not sent from other sites; POST needs our own Origin |
| a name that is made to mean 127.0.0.1 | Host is 127.0.0.1 or localhost with our port |
| the token in a log or a referrer | requests are not logged; no referrer has it; a cookie replaces it |
"""

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

ENTRANCE = "/enter"
"""Path of the link with the token."""

_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",  # without any, browsers send forms without the Origin that is looked at here
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
"""Headers of every answer, unless a page has its own."""


@dataclass(frozen=True)
class Keys:
    """What this server knows its user by.

    Attributes:
        port: where it listens.
        token: part of the link that is printed.
        session: value of the cookie.
    """

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def cookie(self) -> str:
        """Name of the cookie; a browser shares cookies among the ports of a machine."""
        return f"pubpriv-{self.port}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """Return the names that this server goes by."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    @property
    def link(self) -> str:
        """Return the address to open first."""
        return f"http://{self.hosts[0]}{ENTRANCE}?token={self.token}"


@dataclass(frozen=True)
class Guard:
    """An application behind the checks of this module.

    Attributes:
        application: what answers requests that pass.
        keys: of this server.
    """

    application: Application
    keys: Keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.application(scope, receive, send)
            return
        refused = self._refused(scope)
        answer: Application = self.application if refused is None else PlainTextResponse(refused, 403)
        await answer(scope, receive, _with_headers(send))

    def _refused(self, scope: Scope) -> str | None:
        """Say why a request is refused; None: it passes."""
        headers = Headers(scope=scope)
        if len(headers.getlist("host")) != 1 or headers["host"] not in self.keys.hosts:
            return "this server answers to its own address alone: open the link that `pubpriv open` printed"
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return "GET and POST are all there is"
        if scope["method"] == "POST" and headers.get("origin") != f"http://{headers['host']}":
            return "forms are taken from pages of this server alone"
        if scope["path"] == ENTRANCE:
            return None
        shown = cookie_parser(headers.get("cookie", "")).get(self.keys.cookie, "")
        if not secrets.compare_digest(shown.encode(), self.keys.session.encode()):
            return "open the link that `pubpriv open` printed: it lets this browser in"
        return None


def _with_headers(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
