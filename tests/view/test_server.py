"""Who may come in: every kind of stranger is refused in one line, and the server continues."""

import contextlib
import io
import json
import queue
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import types
import zlib

import numpy as np
import pytest
from support.bounded import started

pytest.importorskip("uvicorn", reason="needs the extra [view]: uvicorn")
pytest.importorskip("websockets", reason="needs the extra [view]: websockets")
pytest.importorskip("httpx", reason="needs httpx, for starlette's test client")
pytest.importorskip("starlette", reason="needs the extra [view]: starlette")

import httpx
from PIL import Image
from support.viewing import TOKEN, Running
from websockets.exceptions import ConnectionClosed, InvalidStatus

from depthforest.base import DepthForestError, UsageError, samples_folder
from depthforest.cli.commands import _show_address, main
from depthforest.frames import NO_PART
from depthforest.io import ReadOptions
from depthforest.view import ViewOptions, server
from depthforest.view.clips import open_clip


@pytest.fixture(scope="module")
def running():
    made = Running()
    try:
        yield made
    finally:
        made.close()


def heard(page, kind):
    """Return the next message of a kind; frames are acknowledged."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        message = page.recv(timeout=end - time.monotonic())
        if isinstance(message, bytes):
            length = int.from_bytes(message[:4], "little")
            header = json.loads(message[4 : 4 + length])
            page.send(json.dumps({"do": "shown", "value": header["number"]}))
            if kind == "frame":
                return header
        elif (content := json.loads(message))["kind"] == kind:
            return content
    raise AssertionError(f"no {kind} came among the other messages")


def exhaust(page, messages):
    """Send messages, and hear whatever comes until the page is closed."""
    for message in messages:
        page.send(message)
    end = time.monotonic() + 120
    while time.monotonic() < end:
        page.recv(timeout=30)


def still_serves(running):
    with running.page() as page:
        assert heard(page, "frame")["index"] == 0


def test_the_page_and_its_headers(running):
    answer = httpx.get(running.url())
    assert answer.status_code == 200
    assert "depthforest" in answer.text
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    for name in server.STATIC:
        assert httpx.get(running.url(name)).status_code == 200
    assert "http://" not in answer.text
    assert "https://" not in answer.text


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x", "%00"])
def test_without_the_token_nothing_is_told(running, token):
    answer = httpx.get(running.url(token=token))
    assert answer.status_code == 403
    assert "token" in answer.text
    assert "token" in running.lines[-1]
    assert TOKEN not in running.lines[-1]
    with pytest.raises(InvalidStatus), running.page(token=token or "none"):
        pass


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "192.168.0.7", ""])
def test_another_host_is_refused(running, host):
    answer = httpx.get(running.url(), headers={"host": host})
    assert answer.status_code in (400, 403)
    if answer.status_code == 403:
        assert "Host" in running.lines[-1]


def test_a_websocket_of_another_host_is_refused(running):
    """A name that an attacker's domain server answers with this machine's address."""
    host = f"evil.example:{running.port}"
    with socket.create_connection(("127.0.0.1", running.port), timeout=60) as raw:
        raw.sendall(
            f"GET /{TOKEN}/socket HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n"
            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode()
        )
        assert raw.recv(12) == b"HTTP/1.1 403"
    assert "refused websocket" in running.lines[-1]
    assert "Host" in running.lines[-1]


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", None])
def test_another_origin_is_refused(running, origin):
    with pytest.raises(InvalidStatus, match="403"), running.page(origin=origin):
        pass
    assert "Origin" in running.lines[-1]
    headers = {} if origin is None else {"origin": origin}
    assert httpx.post(running.url("upload"), headers=headers).status_code == 403
    assert httpx.get(running.url(), headers=headers).status_code == (200 if origin is None else 403)


@pytest.mark.parametrize(
    "path", ["../server.py", "..%2fserver.py", "%2e%2e/%2e%2e/etc/passwd", "static/app.js", "/etc/passwd", "server.py"]
)
def test_another_file_is_refused(running, path):
    with socket.create_connection(("127.0.0.1", running.port), timeout=60) as raw:  # httpx would tidy the path
        raw.sendall(f"GET /{TOKEN}/{path} HTTP/1.1\r\nHost: {running.host}\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 404")
    assert "no file of this name" in running.lines[-1]
    assert "passwd" not in running.lines[-1]


def test_play_step_and_seek(running):
    with running.page() as page:
        assert len(heard(page, "hello")["models"]) >= 2
        assert heard(page, "state")["total"] == 6
        assert heard(page, "frame")["name"] == "behind_table"
        for command, index in (({"do": "step", "value": -1}, 5), ({"do": "seek", "value": 2}, 2)):
            page.send(json.dumps(command))
            assert heard(page, "frame")["index"] == index
        page.send('{"do": "speed", "value": 16}')
        page.send('{"do": "play"}')
        assert heard(page, "frame")["index"] != 2
        page.send('{"do": "pause"}')


def test_a_second_model_and_another_reading(running):
    with running.page() as page:
        heard(page, "frame")
        page.send('{"do": "compare", "value": 0}')
        assert len(heard(page, "state")["parts"]) == 2
        assert heard(page, "frame")["compared"]
        page.send('{"do": "read", "value": {"rotate": 90, "people": "all"}}')
        said = heard(page, "state")
        assert "--rotate 90 --background-removed" in said["command"]
        turned = heard(page, "frame")
        assert (turned["width"], turned["height"], len(turned["people"])) == (240, 320, 1)
        page.send('{"do": "model", "value": 99}')
        assert "no number 99" in heard(page, "error")["text"]
        page.send("no json")
        assert "JSON" in heard(page, "error")["text"]


def test_a_page_that_shows_nothing_gets_no_queue(running):
    with running.page() as page:
        session = heard(page, "hello")["session"]
        page.send('{"do": "speed", "value": 16}')
        page.send('{"do": "play"}')
        n = 0
        with contextlib.suppress(TimeoutError):
            while n <= 2:
                n += isinstance(page.recv(timeout=2), bytes)
        assert 1 <= n <= 2
        assert session in running.viewer.sessions
    running.wait(lambda: session not in running.viewer.sessions)


def test_a_flood_of_messages_ends_the_page_alone(running):
    with running.page() as page, pytest.raises(ConnectionClosed) as ended:
        exhaust(page, ['{"do": "pause"}'] * 5000)
    assert ended.value.rcvd is None or ended.value.rcvd.code == 1008
    running.wait(lambda: any("messages in a second" in line for line in running.lines))
    still_serves(running)


def test_a_huge_message_ends_the_page_alone(running):
    running.lines.clear()
    with running.page() as page, pytest.raises(ConnectionClosed):
        exhaust(page, ["x" * (1 << 20)])
    running.wait(lambda: any("broke off" in line for line in running.lines))
    still_serves(running)


def test_half_a_websocket_frame_ends_the_page_alone(running):
    before = len(running.viewer.sessions)
    running.lines.clear()
    with socket.create_connection(("127.0.0.1", running.port), timeout=60) as raw:
        raw.sendall(
            f"GET /{TOKEN}/socket HTTP/1.1\r\nHost: {running.host}\r\nOrigin: http://{running.host}\r\n"
            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode()
        )
        assert raw.recv(12) == b"HTTP/1.1 101"
        raw.sendall(b"\x81\xfe\x40")
    running.wait(lambda: len(running.viewer.sessions) == before)
    running.wait(lambda: any("broke off" in line for line in running.lines))
    still_serves(running)


def test_an_uploaded_file_is_shown_under_its_name(running):
    content = (samples_folder() / "depth" / "on_chair.png").read_bytes()
    with running.page() as page:
        session = heard(page, "hello")["session"]
        heard(page, "frame")
        answer = running.upload(session, content, name="../../<b>my chair</b>.png")
        assert answer.status_code == 200
        said = heard(page, "state")
        assert said["source"] == "b>.png"
        shown = heard(page, "frame")
        assert (shown["total"], shown["name"]) == (1, "b>")
        assert "camera" in heard(page, "reading")["notes"]
        page.send('{"do": "read", "value": {"camera": "kinect_v1@320x240", "flip": true}}')
        assert heard(page, "state")["command"].startswith("depthforest label 'b>.png' --model body31-fast --camera")
        assert heard(page, "frame")["camera"]["fx"] == 262.5
        folder = running.viewer.sessions[session].upload_path("").parent
        assert len(list(folder.iterdir())) == 1
        page.send('{"do": "reopen"}')
        assert heard(page, "frame")["total"] == 6
        joints = httpx.get(running.url("joints"), params={"session": session}).json()
        assert joints["format"] == "depthforest joints"
    running.wait(lambda: not folder.exists())


def test_uploads_that_cannot_be_shown(running, monkeypatch):
    with running.page() as page:
        session = heard(page, "hello")["session"]
        heard(page, "frame")
        answer = running.upload(session, b"GIF89a", name="x.gif")
        heard(page, "error")
        assert answer.status_code == 200  # its content is looked at when it is shown
        assert running.upload(session, b"").status_code in (200, 400)
        assert running.upload("nobody", b"x").status_code == 404
        monkeypatch.setattr(server, "MAX_UPLOAD_BYTES", 1000)
        assert running.upload(session, bytes(1001)).status_code == 413
        assert "refused upload" in running.lines[-1]
        assert "MB" in running.lines[-1]
        assert running.upload(session, iter([bytes(600)] * 2)).status_code == 413  # without a promised length
        running.viewer.sessions[session].is_uploading = True
        assert running.upload(session, b"x").status_code == 409
        assert "one upload at a time" in running.lines[-1]
    still_serves(running)


def test_a_disk_that_takes_no_upload_is_told(running):
    """The page goes on, and its joints need no disk; another page is told why it cannot open."""
    content = (samples_folder() / "depth" / "on_chair.png").read_bytes()
    uploads = running.viewer.uploads
    with running.page() as page:
        session = heard(page, "hello")["session"]
        heard(page, "frame")
        shutil.rmtree(uploads.path)
        answer = running.upload(session, content, name="mine.png")
        assert answer.status_code == 507
        assert answer.text == "mine.png: cannot be kept: no such file or directory\n"
        assert running.lines[-1].endswith(answer.text.strip())
        assert httpx.get(running.url("joints"), params={"session": session}).status_code == 200
        page.send('{"do": "step", "value": 1}')
        assert heard(page, "frame")["index"] == 1
        with running.page() as other, pytest.raises(ConnectionClosed) as closed:
            other.recv(timeout=30)
        assert closed.value.rcvd.code == 1013
        assert "cannot be written" in running.lines[-1]
    uploads.path.mkdir()
    still_serves(running)


def test_a_bomb_is_refused_by_its_header(running):
    bomb = io.BytesIO()
    np.lib.format.write_array_header_1_0(bomb, {"descr": "<u2", "fortran_order": False, "shape": (1 << 20, 1 << 20)})
    with running.page() as page:
        session = heard(page, "hello")["session"]
        heard(page, "frame")
        running.upload(session, bomb.getvalue(), name="bomb.npy")
        text = heard(page, "error")["text"]
    assert "bomb.npy" in text
    assert "/" not in text
    still_serves(running)


def test_too_many_pages(running):
    with contextlib.ExitStack() as pages:
        running.wait(lambda: not running.viewer.sessions)
        for _ in range(8):
            heard(pages.enter_context(running.page()), "hello")
        with running.page() as page, pytest.raises(ConnectionClosed):
            page.recv(timeout=30)
        assert "8 pages are open" in running.lines[-1]
    running.wait(lambda: not running.viewer.sessions)


def test_a_host_on_the_network_takes_addresses_and_no_foreign_names():
    guard = server.Guard(None, TOKEN, ViewOptions(host="0.0.0.0"), print)
    assert guard._is_own("192.168.0.7:8000")
    assert guard._is_own("[fe80::1]:8000")
    assert not guard._is_own("evil.example:8000")
    assert not ViewOptions(host="0.0.0.0").is_local
    assert ViewOptions(host="::1").is_local


def test_a_port_that_is_taken(running):
    with pytest.raises(UsageError, match=r"cannot listen there.*give another port"):
        server.serve(ViewOptions(port=running.port), is_opened=False)


def test_too_many_pixels_are_refused_before_they_are_decoded(running):
    header = struct.pack(">II5B", 8000, 8000, 16, 0, 0, 0, 0)  # 64 million pixels: other commands open them
    chunk = b"IHDR" + header
    png = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))
    with running.page() as page:
        session = heard(page, "hello")["session"]
        heard(page, "frame")
        running.upload(session, png, name="large.png")
        assert "8000 x 8000 pixels; expected 1 to 8388608" in heard(page, "error")["text"]
    still_serves(running)


def test_a_text_and_half_a_picture_are_told_by_their_names(running):
    whole = (samples_folder() / "depth" / "on_chair.png").read_bytes()
    with running.page() as page:
        session = heard(page, "hello")["session"]
        heard(page, "frame")
        for name, content, says in (
            ("notes.txt", b"no depth at all\n" * 9, "is not a PNG"),
            ("half.png", whole[: len(whole) // 2], "is truncated"),
        ):
            running.upload(session, content, name=name)
            text = heard(page, "error")["text"]
            assert text.startswith(name)
            assert says in text
        running.upload(session, whole, name="whole.png")
        assert heard(page, "frame")["name"] == "whole"
    still_serves(running)


def test_a_model_that_does_not_exist():
    with pytest.raises(DepthForestError, match="nosuchmodel"):
        server.serve(ViewOptions(model="nosuchmodel"), is_opened=False)


@pytest.mark.parametrize("name", server.PACKAGES)
def test_without_the_extra_it_says_what_to_install(monkeypatch, name):
    monkeypatch.setattr(server, "find_spec", lambda wanted: None if wanted == name else object())
    expected = f"needs {name}, not installed here: run pip install starlette uvicorn websockets"
    with pytest.raises(UsageError, match=expected):
        server.serve(ViewOptions(), is_opened=False)


def test_the_lines_do_what_is_shown(running, tmp_path, monkeypatch):
    depth = samples_folder() / "depth" / "on_chair.png"
    (tmp_path / "my chair.png").write_bytes(depth.read_bytes())
    monkeypatch.chdir(tmp_path)
    with running.page() as page:
        session = heard(page, "hello")["session"]
        heard(page, "frame")
        running.upload(session, depth.read_bytes(), name="my chair.png")
        page.send('{"do": "read", "value": {"camera": "kinect_v1@320x240", "scale": "0.001", "flip": true}}')
        while not (state := heard(page, "state"))["reading"]["flip"]:
            pass
        frame = heard(page, "frame")
    shown = {name: joint[:3] for name, joint in frame["people"][0]["joints"].items()}
    told = {}
    exec(state["python"], told)
    assert {name: list(joint.position) for name, joint in told["joints"].items()} == {
        name: pytest.approx(at, abs=1e-4) for name, at in shown.items()
    }
    monkeypatch.setattr("sys.argv", shlex.split(state["command"]))
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert frame["name"] == "my chair"
    with Image.open(tmp_path / "labels" / "parts" / "my chair.png") as written:
        _, _, left, right = frame["box"]
        assert np.asarray(written).shape == (frame["height"], frame["width"])
        box = np.flatnonzero((np.asarray(written) != NO_PART).any(0))
        assert (box[0], box[-1] + 1) == (left, right)


def test_it_listens_on_this_machine_alone(running):
    assert running.listening.getsockname()[0] == "127.0.0.1"
    assert ViewOptions().host == "127.0.0.1"


def test_every_start_has_a_token_of_its_own(monkeypatch):
    monkeypatch.setattr("uvicorn.Server.run", lambda *args, **options: None)  # noqa: ARG005
    shown = []
    for _ in range(2):
        server.serve(ViewOptions(model="body31-fast"), show=shown.append, is_opened=False)
    tokens = [address.split("/")[3] for address in shown]
    assert tokens[0] != tokens[1]
    assert all(len(token) >= 32 for token in tokens)


@pytest.mark.parametrize("is_opened", [True, False])
def test_the_page_is_opened_unless_asked_not_to(monkeypatch, is_opened):
    monkeypatch.setattr("uvicorn.Server.run", lambda *args, **options: None)  # noqa: ARG005
    shown, opened = [], []
    monkeypatch.setattr(server.webbrowser, "open", opened.append)
    server.serve(ViewOptions(model="body31-fast"), show=shown.append, is_opened=is_opened)
    assert opened == (shown if is_opened else [])
    assert len(shown) == 1


def test_the_network_is_warned_about(capsys):
    _show_address(False, "http://192.0.2.7:80/token/")
    said = capsys.readouterr()
    assert said.out == "http://192.0.2.7:80/token/\n"
    assert "anyone on the network" in said.err
    assert "not encrypted" in said.err


class Stream(io.RawIOBase):
    """Standard input that gives a picture whenever the test lets one through."""

    def __init__(self, picture):
        self._left, self._picture, self.allowed = b"", picture.tobytes(), queue.Queue()

    def readable(self):
        return True

    def readinto(self, buffer):
        if not self._left:
            self._left = self._picture if self.allowed.get(timeout=300) else b""
        n = min(len(buffer), len(self._left))
        buffer[:n], self._left = self._left[:n], self._left[n:]
        return n


def test_a_live_stream_shows_the_newest_frame_and_tells_its_end(monkeypatch):
    frame = open_clip((), ReadOptions()).take(0).frame
    stream = Stream(frame.depth_mm)
    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(buffer=stream, isatty=lambda: False))
    live = Running(sources=("-",), reading=ReadOptions("kinect_v1@320x240"))
    try:
        with live.page() as page:
            state = heard(page, "state")
            assert (state["live"], state["playing"]) == (True, True)
            stream.allowed.put(True)
            first = heard(page, "frame")
            assert first["index"] == 0
            assert set(first["stages"]) == {"wait", "people", "parts", "joints"}
            for _ in range(20):
                stream.allowed.put(True)
            live.wait(lambda: len(live.viewer.clip) == 21)
            seen = [heard(page, "frame") for _ in range(2)]
            assert seen[-1]["index"] <= 20
            while seen[-1]["index"] < 20:  # whatever was skipped, the newest comes
                seen.append(heard(page, "frame"))
            assert {"send and draw", "in all"} == set(seen[-1]["delays"])
            page.send('{"do": "read", "value": {"people": "all"}}')
            assert len(heard(page, "frame")["people"]) == 1
            stream.allowed.put(False)
            assert "the stream has ended" in heard(page, "error")["text"]
            assert heard(page, "state")["playing"] is False
    finally:
        stream.allowed.put(False)
        live.close()


def test_a_camera_that_never_delivers_is_told(monkeypatch):
    monkeypatch.setattr("depthforest.view.session.LIVE_PATIENCE_S", 0.05)
    stream = Stream(np.zeros((240, 320), np.uint16))
    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(buffer=stream, isatty=lambda: False))
    live = Running(sources=("-",), reading=ReadOptions("kinect_v1@320x240"))
    try:
        with live.page() as page:
            assert "no frame came within" in heard(page, "error")["text"]
            page.send('{"do": "pause"}')  # and it still listens
            while heard(page, "state")["playing"]:
                pass
    finally:
        stream.allowed.put(False)
        live.close()


def test_the_command_prints_the_address_first(tmp_path):
    with started(
        [sys.executable, "-c", "from depthforest.cli.commands import main; main()", "view", "--no-open"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    ) as process:
        address = process.stdout.readline().strip()
        assert any("open it in a browser; Ctrl-C stops" in line for line in process.stderr)
        assert httpx.get(address, timeout=60).status_code == 200
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode in (0, 130)
