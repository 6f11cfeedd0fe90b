"""What a server keeps of uploads: a folder that is gone when the server has ended, or when the next one begins."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs the extra [view]: uvicorn")

from depthforest.base import DepthForestError
from depthforest.view.uploads import PREFIX, UploadFolder


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_is_removed_when_the_server_ends(temporary):
    uploads = UploadFolder()
    (uploads.of_page() / "mine.png").write_bytes(b"depth")
    assert list(temporary.iterdir()) == [uploads.path]
    uploads.close()
    assert list(temporary.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs locks of folders")
def test_the_next_server_removes_what_a_killed_one_left(temporary):
    code = (
        "import os; from depthforest.view.uploads import UploadFolder as U; u = U();"
        "(u.of_page() / 'mine.png').write_bytes(b'depth'); print(u.path, flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"TMPDIR": str(temporary)}, capture_output=True, text=True,
        check=False, timeout=60,
    )  # fmt: skip
    left = Path(done.stdout.strip())
    assert left.parent == temporary
    assert left.is_dir()
    running = UploadFolder()
    assert not left.exists()
    (temporary / f"{PREFIX}link").symlink_to(temporary)
    other = UploadFolder()  # the folder of a server that runs, and what is no folder, stay
    assert {path.name for path in temporary.iterdir()} == {running.path.name, other.path.name, f"{PREFIX}link"}
    running.close()
    other.close()


def test_no_room_for_uploads_is_told(temporary):
    uploads = UploadFolder()
    shutil.rmtree(uploads.path)
    with pytest.raises(DepthForestError, match="cannot be written: no such file or directory"):
        uploads.of_page()
    uploads.close()
    temporary.rmdir()
    with pytest.raises(DepthForestError, match="no temporary folder for uploads can be made"):
        UploadFolder()
