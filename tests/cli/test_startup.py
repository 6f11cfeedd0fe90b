import subprocess
import sys

from support.labelcommand import COMMON, GOLDEN

PROGRAM = """
import sys
import numpy as np
from depthforest.cli.commands import app

app(["label", *sys.argv[1:]], standalone_mode=False)
print("scipy.linalg" in sys.modules, "sklearn" in sys.modules, "skimage" in sys.modules, "matplotlib" in sys.modules)

import numba

product = numba.njit(lambda a, b: np.dot(a, b))(np.eye(2), np.ones(2))
print(product.tolist(), "scipy.linalg" in sys.modules)
"""


def test_label_imports_nothing_that_it_does_not_need_and_spoils_nothing_for_others(tmp_path):
    frame = next((GOLDEN / "frames" / "depth").glob("*.png"))
    arguments = [frame, "-o", tmp_path / "out", "--background-removed", *COMMON]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    assert done.stdout.splitlines()[-2:] == ["False False False False", "[1.0, 1.0] True"]
