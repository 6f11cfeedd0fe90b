"""A server of the viewer on a port of its own, for tests of the server and of the page."""

import contextlib
import threading
import time

import httpx
import uvicorn
from websockets.sync.client import connect

from depthforest.view import ViewOptions, server
from depthforest.view.viewer import Viewer

TOKEN = "a-token-that-only-the-tests-know"


class Running:
    """A server on a port of its own, in a thread."""

    def __init__(self, **options):
        self.lines = []
        self._n_pages = 0
        self.options = ViewOptions(model="body31-fast", **options)
        self.viewer = Viewer(self.options, self.lines.append)
        self.listening = server._bound(self.options)
        self.port = self.listening.getsockname()[1]
        self.host = f"127.0.0.1:{self.port}"
        self.server = uvicorn.Server(server.configured(self.viewer, TOKEN))
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.listening]}, daemon=True)
        self.thread.start()
        self.wait(lambda: self.server.started)

    def close(self):
        self.server.should_exit = True
        self.thread.join(20)
        self.viewer.close()
        self.listening.close()

    @staticmethod
    def wait(is_so):
        end = time.monotonic() + 60
        while not is_so():
            assert time.monotonic() < end
            time.sleep(0.01)

    def url(self, path="", token=TOKEN):
        return f"http://{self.host}/{token}/{path}"

    @contextlib.contextmanager
    def page(self, **how):
        how = {"origin": f"http://{self.host}", "max_size": None} | how
        with connect(f"ws://{self.host}/{how.pop('token', TOKEN)}/socket", **how) as page:
            self._n_pages += 1
            try:
                yield page
            finally:
                self._n_pages -= 1
        self.wait(lambda: len(self.viewer.sessions) <= self._n_pages)  # the next page finds its place free

    def upload(self, session, content, name="x.png", **how):
        headers = {"origin": f"http://{self.host}"} | how.pop("headers", {})
        params = {"session": session, "name": name}
        return httpx.post(self.url("upload"), params=params, content=content, headers=headers, timeout=60)
