"""Files by URL: read once, bounded, and every bad answer in one line."""

import os
import pickle
import sys
from pathlib import Path

import pytest
from support.bounded import run_threads
from support.serving import served

from depthforest.base import remote
from depthforest.base.errors import DatasetError, ModelError, UsageError
from depthforest.base.files import read_bytes
from depthforest.base.modelfile import read
from depthforest.base.remote import RemotePath, place_of

pytest.importorskip("fsspec", reason="needs the extra remote")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("aiohttp", reason="needs the extra remote")
    folder = tmp_path_factory.mktemp("site")
    (folder / "one.txt").write_bytes(b"one")
    (folder / "with blank").mkdir()
    (folder / "with blank" / "a&b.txt").write_bytes(b"two")
    with served(folder) as (url, asked):
        yield url, asked


def test_urls_are_told_from_paths(tmp_path):
    assert place_of(tmp_path) == tmp_path
    assert place_of("data/set") == Path("data/set")
    assert place_of("C:\\data") == Path("C:\\data")
    place = place_of("S3://bucket/some/model.safetensors/")
    assert str(place) == "s3://bucket/some/model.safetensors"
    assert (place.name, place.stem, place.suffix) == ("model.safetensors", "model", ".safetensors")
    assert str(place / "x") == "s3://bucket/some/model.safetensors/x"
    assert place_of(place) is place


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://there/x", r"ftp:// addresses cannot be read; known are s3://, gs://, https://"),
        ("file:///etc/passwd", "file:// addresses cannot be read"),
        ("s3://", "is not the address of a file or a folder"),
        ("https://there/a::s3://here", "is not the address"),
        ("https://there/a\nb", "is not the address"),
    ],
)
def test_addresses_that_are_none_are_refused(url, message):
    with pytest.raises(UsageError, match=message):
        place_of(url)


def test_passwords_and_signatures_are_not_shown():
    place = place_of("https://me:secret@there.example/models/m.safetensors?signature=abc")
    assert "secret" not in f"{place!r}{place}"
    assert str(place) == "https://there.example/models/m.safetensors"
    assert (place / "x").url == "https://me:secret@there.example/models/m.safetensors/x?signature=abc"


def test_files_and_folders_of_a_web_server(site):
    url, _ = site
    place = place_of(url)
    assert place.is_dir()
    assert sorted(one.name for one in place.iterdir()) == ["one.txt", "with blank"]
    assert [one.read_bytes() for one in (place / "with blank").iterdir()] == [b"two"]
    assert read_bytes(place / "one.txt", DatasetError) == b"one"
    assert not (place / "one.txt").is_dir()
    assert not (place / "none").exists()


def test_a_file_is_asked_for_once_by_all_threads_and_by_copies_that_were_sent(site):
    url, asked = site
    place, found = place_of(url) / "slow", []
    run_threads(*[lambda: found.append(place.read_bytes())] * 6)
    assert found == [b"slow"] * 6
    assert pickle.loads(pickle.dumps(place)).read_bytes() == b"slow"
    assert not (place / "none").exists()
    assert asked["/slow"] == 1
    place_of(f"{url}/slow").read_bytes()  # opened anew, it is asked for anew
    assert asked["/slow"] == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_keeps_its_own_files():
    import fsspec

    fsspec.filesystem("memory").pipe({"/forked/a": b"a" * 50, "/forked/b": b"b" * 9, "/forked/c": b"c" * 99})
    place = place_of("memory://forked")
    assert (place / "a").read_bytes() == b"a" * 50
    child = os.fork()
    if child == 0:
        ok = (place / "b").read_bytes() == b"b" * 9 and (place / "a").read_bytes() == b"a" * 50
        os._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (place / "c").read_bytes() == b"c" * 99
    assert (place / "a").read_bytes() == b"a" * 50
    assert (place / "c").read_bytes() == b"c" * 99


def test_what_does_not_fit_the_disk_is_read_again(site, monkeypatch):
    url, asked = site
    monkeypatch.setattr(remote, "MIN_FREE_BYTES", 2**62)
    place, before = place_of(url) / "one.txt", asked["/one.txt"]
    assert place.read_bytes() == place.read_bytes() == b"one"
    assert asked["/one.txt"] == before + 2


def test_an_answer_without_end_is_cut_and_refused(site, monkeypatch):
    url, _ = site
    with pytest.raises(OSError, match="it has more than 100000 bytes"):
        (place_of(url) / "endless").read_bytes(100_000)
    import fsspec

    fsspec.filesystem("memory").pipe("/large", bytes(101))
    with pytest.raises(OSError, match="it has more than 100 bytes"):
        RemotePath("memory://large").read_bytes(100)
    assert len(RemotePath("memory://large").read_bytes(101)) == 101
    monkeypatch.setattr("depthforest.base.modelfile.MAX_FILE_BYTES", 1000)
    with pytest.raises(ModelError, match=r"endless: cannot be read: it has more than 1000 bytes"):
        read(f"{url}/endless")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none", "cannot be read: there is no such file"),
        ("locked", "cannot be read: access is refused; are credentials set"),
        ("broken", "cannot be read: the server says status 500"),
        ("cut", "cannot be read: the server does not answer"),
        ("one.txt", "is not a model file"),
    ],
)
def test_bad_answers_are_told_in_one_line(site, name, message):
    with pytest.raises(ModelError, match=message) as told:
        read(f"{site[0]}/{name}")
    assert "\n" not in str(told.value)


def test_a_server_that_is_gone_is_told():
    with pytest.raises(ModelError, match=r"^http://127.0.0.1:9/m: cannot be read: the server does not answer; is the"):
        read("http://127.0.0.1:9/m")


@pytest.mark.parametrize(("url", "package"), [("s3://b/x", "s3fs"), ("gs://b/x", "gcsfs"), ("https://b/x", "aiohttp")])
def test_a_missing_package_is_told(url, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        UsageError, match=rf"need the package {package}, which is not installed: run pip install {package}"
    ):
        read(url)
