"""Access control, the few routes, and the page itself. Nothing here trusts what a client sends."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import secrets
import socket
import time
import webbrowser
from collections.abc import Callable
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from depthforest.base import DepthForestError, UsageError, reason
from depthforest.view.options import LOOPBACK, ViewOptions

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.websockets import WebSocket

    from depthforest.view.session import Session
    from depthforest.view.viewer import Viewer

MAX_UPLOAD_BYTES = 512 * 1024 * 1024
"""Largest upload: 800 raw frames of 640 x 480."""

PACKAGES = ("starlette", "uvicorn", "websockets")
"""Packages of the extra [view]; a message lists them individually, which works in a checkout, too."""

UPLOAD_SUFFIXES = (
    *(".png", ".tif", ".tiff", ".pgm", ".npy", ".npz", ".pcd", ".raw", ".bin", ".depth"),
    *(".bag", ".mcap", ".db3", ".mkv", ".h5", ".hdf5"),
)
"""Endings that an upload keeps, because readers check them; the rest of its name is only shown."""

KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
SCRIPTS = ("app", "cpu", "dom", "files", "gpu", "link", "marking", "marks", "orbit", "overlay", "panes", "plot", "side")
STATIC = {
    "": "index.html",
    **{f"{name}.js": f"{name}.js" for name in SCRIPTS},
    "style.css": "style.css",
    "icon.svg": "icon.svg",
}
"""All files of the page by address: no part of an address is ever used as a path."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}

REFUSED, TRY_LATER = 1008, 1013
"""Close codes of a websocket: the page broke the protocol; too many pages are open."""


PROPER_ENDS = (1000, 1001)
"""Close codes of browsers: done, gone to another page. A broken connection has none."""


class Guard:
    """Accepts requests with the token, for this host and from this page; refuses others with one line.

    Parameters
    ----------
    app : ASGI application
    token : str
        First part of every address.
    options : ViewOptions
        Determines the allowed Host: this machine's names, or any address literal if others may connect. A name that
        another domain server resolves is never allowed.
    tell : callable
        Called with a line for each refusal.
    """

    def __init__(self, app: Any, token: str, options: ViewOptions, tell: Callable[[str], object]) -> None:
        self._app, self._token, self._options, self._tell = app, token.encode(), options, tell

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        why = self._refusal(scope)
        if why is None:
            await self._app(scope, receive, _with_headers(send))
            return
        client = (scope.get("client") or ("?",))[0]
        self._tell(f"refused {scope.get('method', 'websocket')} from {client}: {why}")
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": REFUSED, "reason": why})
            return
        from starlette.responses import PlainTextResponse

        await PlainTextResponse(f"{why}\n", status_code=403)(scope, receive, _with_headers(send))

    def _refusal(self, scope: Any) -> str | None:
        """Return why a request is refused; None if it is not."""
        given: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            given.setdefault(name.lower(), []).append(value)
        hosts, origins = given.get(b"host", []), given.get(b"origin", [])
        if len(hosts) != 1 or not self._is_own(hosts[0].decode("latin-1")):
            return "the Host is not this machine"
        is_strict = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD")
        if len(origins) > 1 or (origins or [b""])[0] not in (b"http://" + hosts[0], b"" if not is_strict else None):
            return "the Origin is not this page"
        token = scope["path"].split("/")[1].encode("utf-8", "replace")
        if not hmac.compare_digest(token, self._token):
            return "the token is missing or wrong; open the address that depthforest view printed"
        return None

    def _is_own(self, host: str) -> bool:
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        name = name.strip("[]").lower()
        if name == "localhost" or name == self._options.host.lower():
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            own = socket.gethostname().lower()
            return not self._options.is_local and name in (own, f"{own}.local")
        return address.is_loopback or not self._options.is_local


def _with_headers(send: Any) -> Any:
    """Return a `send` that adds the headers of every answer."""

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", []), *added]}
        await send(message)

    return sending


def make_app(viewer: Viewer, token: str) -> Guard:
    """Return the application behind its guard."""
    from starlette.applications import Starlette
    from starlette.routing import Route, WebSocketRoute

    pages = _Pages(viewer)
    inside: Starlette = Starlette(
        routes=[
            Route("/{token}/upload", pages.upload, methods=["POST"]),
            Route("/{token}/joints", pages.joints, methods=["GET"]),
            WebSocketRoute("/{token}/socket", pages.talk),
            Route("/{token}/{name:path}", pages.static, methods=["GET"]),
        ]
    )
    return Guard(inside, token, viewer.options, viewer.tell)


class _Pages:
    """The routes."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        folder = resources.files("depthforest.view") / "static"
        self._files = {name: ((folder / file).read_bytes(), KINDS[Path(file).suffix]) for name, file in STATIC.items()}

    async def static(self, request: Request) -> Response:
        """Return one of the files of the page."""
        from starlette.responses import PlainTextResponse, Response

        name = request.path_params["name"]
        if name not in self._files:
            self._viewer.tell(f"refused GET from {_client(request)}: the page has no file of this name")
            return PlainTextResponse("there is no such file\n", status_code=404)
        content, kind = self._files[name]
        return Response(content, media_type=kind)

    async def joints(self, request: Request) -> Response:
        """Return the joints of the frames that a page has shown."""
        from starlette.responses import PlainTextResponse, Response

        session = self._viewer.sessions.get(request.query_params.get("session", ""))
        if session is None:
            return PlainTextResponse("this page is not open\n", status_code=404)
        how = {"content-disposition": 'attachment; filename="joints.json"'}
        return Response(session.joints_file(), media_type="application/json", headers=how)

    async def upload(self, request: Request) -> Response:
        """Take a file, within bounds, and show it."""
        from starlette.responses import PlainTextResponse

        session = self._viewer.sessions.get(request.query_params.get("session", ""))
        if session is None:
            return PlainTextResponse("this page is not open\n", status_code=404)
        if session.is_uploading:
            return self._refused(request, 409, "one upload at a time; wait for the last one")
        session.is_uploading = True
        try:
            return await self._take(request, session)
        finally:
            session.is_uploading = False

    async def _take(self, request: Request, session: Session) -> Response:
        from starlette.requests import ClientDisconnect
        from starlette.responses import PlainTextResponse

        name = _shown_name(request.query_params.get("name", ""))
        too_large = f"a file of more than {MAX_UPLOAD_BYTES >> 20} MB; open it with depthforest view FILE"
        promised = request.headers.get("content-length", "")
        if promised.isascii() and promised.isdigit() and int(promised) > MAX_UPLOAD_BYTES:
            return self._refused(request, 413, too_large)
        suffix = next((s for s in UPLOAD_SUFFIXES if name.lower().endswith(s)), "")
        path = session.upload_path(suffix)
        try:
            n = 0
            with path.open("wb") as file:
                async for piece in request.stream():
                    n += len(piece)
                    if n > MAX_UPLOAD_BYTES:
                        path.unlink()
                        return self._refused(request, 413, too_large)
                    file.write(piece)
            await session.show_upload(path, name)
        except ClientDisconnect:
            path.unlink(missing_ok=True)
            return self._refused(request, 400, "an upload that broke off")
        except DepthForestError as error:
            path.unlink(missing_ok=True)
            text = str(error).replace(str(path), name)
            return self._refused(request, 400, text)
        except OSError as error:  # of the file that is kept here: a full disk
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
            return self._refused(request, 507, f"{name}: cannot be kept: {reason(error)}")
        return PlainTextResponse("shown\n")

    def _refused(self, request: Request, code: int, why: str) -> Response:
        from starlette.responses import PlainTextResponse

        self._viewer.tell(f"refused upload from {_client(request)}: {why}")
        return PlainTextResponse(f"{why}\n", status_code=code)

    async def talk(self, page: WebSocket) -> None:
        """Serve one open page until it closes."""
        from depthforest.view.session import MAX_PAGES, Session

        await page.accept()
        if len(self._viewer.sessions) >= MAX_PAGES:
            self._viewer.tell(f"refused websocket from {_client(page)}: {MAX_PAGES} pages are open")
            await page.close(TRY_LATER, f"{MAX_PAGES} pages are open; close one")
            return
        try:
            session = Session(self._viewer, page)
        except DepthForestError as error:
            self._viewer.tell(f"refused websocket from {_client(page)}: {error}")
            await page.close(TRY_LATER, str(error)[:100])
            return
        self._viewer.sessions[session.id] = session
        producing: asyncio.Task[None] | None = None
        try:
            await session.start()
            producing = asyncio.create_task(session.produce())
            listening = asyncio.create_task(self._listen(page, session))
            done, _ = await asyncio.wait((producing, listening), return_when=asyncio.FIRST_COMPLETED)
            listening.cancel()
            for task in done:
                task.result()
        except DepthForestError as error:
            self._viewer.tell(f"closed a page: {error}")
            with contextlib.suppress(Exception):
                await page.close(REFUSED, str(error)[:100])
        except Exception as error:  # one page must not end the others
            if not _is_gone(error):
                self._viewer.tell(f"a page ended with {type(error).__name__}: {error}")
            elif session.end_code is None:
                session.end_code = await _end_code(page)
        finally:
            if session.end_code not in (*PROPER_ENDS, None):
                self._viewer.tell(f"a page from {_client(page)} broke off (code {session.end_code})")
            if producing is not None:
                producing.cancel()
                await asyncio.wait((producing,))
            self._viewer.sessions.pop(session.id, None)
            session.close()

    async def _listen(self, page: WebSocket, session: Session) -> None:
        """Handle a page's messages until it closes; UsageError for messages that our page never sends."""
        from depthforest.view.protocol import MAX_MESSAGES_A_SECOND, parse_command

        second, n = 0.0, 0
        while True:
            message = await page.receive()
            if message["type"] == "websocket.disconnect":
                session.end_code = message.get("code")
                return
            now = time.monotonic()
            second, n = (now, 1) if now - second > 1 else (second, n + 1)
            if n > MAX_MESSAGES_A_SECOND:
                raise UsageError(f"more than {MAX_MESSAGES_A_SECOND} messages in a second")
            text = message.get("text")
            try:
                await session.obey(parse_command(text if text is not None else message.get("bytes") or b""))
            except DepthForestError as error:
                await session.complain(error)


async def _end_code(page: WebSocket) -> int | None:
    """Return the close code of a page that closed while nobody was listening."""
    with contextlib.suppress(TimeoutError, RuntimeError):
        async with asyncio.timeout(1):
            while (message := await page.receive())["type"] != "websocket.disconnect":
                pass
            return int(message.get("code") or 0)
    return None


def _is_gone(error: Exception) -> bool:
    """Tell whether an exception only means that a page was closed during a send."""
    return type(error).__name__ in ("WebSocketDisconnect", "ClientDisconnected") or "websocket.close" in str(error)


def _client(request: Any) -> str:
    return request.client.host if request.client else "?"


def _shown_name(name: str) -> str:
    """Return the name of an upload for display: the last part, printable."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    return "".join(c if c.isprintable() else "?" for c in last)[:120].lstrip("-") or "upload"


def configured(viewer: Viewer, token: str) -> uvicorn.Config:
    """Return the server's configuration: small messages only, and no log besides our own lines."""
    import uvicorn

    return uvicorn.Config(
        make_app(viewer, token),
        log_level="critical",
        access_log=False,
        lifespan="off",
        ws="websockets-sansio",
        ws_max_size=64 * 1024,
        ws_per_message_deflate=False,
        limit_concurrency=64,
        timeout_graceful_shutdown=2,
        server_header=False,
    )


def serve(
    options: ViewOptions,
    *,
    show: Callable[[str], object] = print,
    tell: Callable[[str], object] = print,
    is_opened: bool = True,
) -> None:
    """Serve the page until Ctrl-C.

    Parameters
    ----------
    options : ViewOptions
    show : callable
        Called with the address, once the page can be opened.
    tell : callable
        Called with one line for every refusal and error.
    is_opened : bool
        Open the page in the browser.
    """
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"the viewer needs {', '.join(missing)}, not installed here: run pip install {' '.join(PACKAGES)}"
        )
    import uvicorn

    from depthforest.view.viewer import Viewer

    with _bound(options) as listening:
        token = secrets.token_urlsafe(24)
        viewer = Viewer(options, tell)
        address = f"http://{_reachable(options)}:{listening.getsockname()[1]}/{token}/"
        show(address)
        if is_opened:
            webbrowser.open(address)
        try:
            uvicorn.Server(configured(viewer, token)).run(sockets=[listening])
        finally:
            viewer.close()


def _bound(options: ViewOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((options.host, options.port))
        listening.listen(64)  # now, so that a browser that connects before the server is ready waits instead of failing
    except OSError as error:
        listening.close()
        where = f"{options.host}:{options.port}"
        raise UsageError(f"{where}: cannot listen there: {reason(error)}; give another port, or 0 for any") from None
    return listening


def _reachable(options: ViewOptions) -> str:
    """Return the address of the page for browsers."""
    if options.host not in ("0.0.0.0", "::"):
        return f"[{options.host}]" if ":" in options.host else options.host
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: it only selects the network interface
            return str(probe.getsockname()[0])
        except OSError:
            return LOOPBACK
