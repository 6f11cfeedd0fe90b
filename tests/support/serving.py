"""Servers on the loopback for files by URL: a web server that counts and may misbehave, and moto's S3."""

from __future__ import annotations

import contextlib
import functools
import http.server
import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

WRONG = {"/locked": 401, "/broken": 500}
"""Paths that are answered with an error."""


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Files of a folder, and its lists of files; what was asked for is counted."""

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.server.asked[self.path] += 1
        if self.path in WRONG:
            self.send_error(WRONG[self.path])
        elif self.path == "/slow":
            time.sleep(0.2)
            self._send(b"slow")
        elif self.path == "/endless":
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                while True:
                    self.wfile.write(bytes(2**16))
        elif self.path == "/cut":
            self._send(b"half", n=8)
        else:
            super().do_GET()

    def _send(self, content: bytes, n: int | None = None) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content) if n is None else n))
        self.end_headers()
        self.wfile.write(content)


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    asked: Counter[str]


@contextlib.contextmanager
def served(folder: Path) -> Iterator[tuple[str, Counter[str]]]:
    """Serve a folder by HTTP; yield its address, and how often each path was asked for."""
    server = _Server(("127.0.0.1", 0), functools.partial(_Handler, directory=str(folder)))
    server.asked = Counter()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", server.asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join(60)


@contextlib.contextmanager
def object_store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Start an S3 store of moto, let `s3://` addresses find it, and yield fsspec's file system of it."""
    fsspec = pytest.importorskip("fsspec", reason="needs the extra remote")
    pytest.importorskip("s3fs", reason="needs the extra remote")
    moto = pytest.importorskip("moto.server", reason="needs moto[s3], flask and flask-cors")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    variables = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_SHARED_CREDENTIALS_FILE": "none", "AWS_CONFIG_FILE": "none",
    }  # fmt: skip
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    kind = fsspec.get_filesystem_class("s3")
    kind.clear_instance_cache()
    try:
        yield fsspec.filesystem("s3")
    finally:
        kind.clear_instance_cache()
        server.stop()
