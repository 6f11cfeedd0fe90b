"""Files of tree ensembles with something wrong in them: small changes of content and columns, drawn or by hand."""

import json
import sys
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from depthforest.base import modelfile

TOOLS = Path(__file__).resolve().parents[2] / "tools"


def fuzz_tools():
    """Return the modules (fuzz_models, valid_ensembles), imported as the script imports them."""
    sys.path.insert(0, str(TOOLS))
    try:
        import fuzz_models
        import valid_ensembles
    finally:
        sys.path.remove(str(TOOLS))
    return fuzz_models, valid_ensembles


def failures_without(check, path):
    """Return what goes wrong with mutants of a file when one of the loader's checks, "module.function", is lost."""
    module, _, function = check.rpartition(".")
    code = (
        f"import sys; sys.path.insert(0, {str(TOOLS)!r})\n"
        f"import importlib; importlib.import_module({module!r}).{function} = lambda *_: None\n"
        "import model_mutants; model_mutants.MUTATIONS = {'arrays': model_mutants.MUTATIONS['arrays']}\n"
        "import fuzz_models; from pathlib import Path\n"
        f"fuzz_models.run_cases([Path({str(path)!r})], 1, int(sys.argv[1]), 300)\n"
    )
    report = fuzz_tools()[0].fuzz(300, lambda first: [sys.executable, "-c", code, str(first)], seconds=5)
    return [what for _, _, what in report.failures]


def changed(path, target, change):
    """Write a copy of a file whose content and columns `change` has changed."""
    file = modelfile.read(path)
    content = json.loads(json.dumps(file.content))
    columns = {name: array.copy() for name, array in file.columns.items()}
    change(content, columns)
    target.write_bytes(b"".join(modelfile.encode(file.kind, file.version, content, columns)))


def item(column, index, value):
    def change(_, columns):
        columns[column][index] = value

    return change


def at(column, where, value):
    """Change the first entry of nodes that `where` (columns to mask) chooses."""

    def change(_, columns):
        columns[column][np.flatnonzero(where(columns))[0]] = value

    return change


def key(*path_and_value):
    *path, name, value = path_and_value

    def change(content, _):
        for step in path:
            content = content[step]
        content[name] = value

    return change


def cut(column, n=-1):
    def change(_, columns):
        columns[column] = columns[column][:n]

    return change


def whole_column(column, value):
    def change(_, columns):
        columns[column] = np.asarray(value, dtype=columns[column].dtype)

    return change


@st.composite
def one_entry(draw, path):
    """Draw a change of one entry of one column of a file: it may be anything."""
    file = modelfile.read(path)
    column = draw(st.sampled_from(sorted(c for c, array in file.columns.items() if array.size)))
    array = file.columns[column]
    index = draw(st.integers(0, array.size - 1))
    if array.dtype.kind == "f":
        value = draw(st.floats(width=array.dtype.itemsize * 8))
    else:
        limits = np.iinfo(array.dtype)
        anything = st.integers(int(limits.min), int(limits.max))
        value = draw(st.one_of(st.integers(0, 60), st.sampled_from(array.ravel().tolist()), anything))

    def change(_, columns):
        columns[column].reshape(-1)[index] = value

    return change
