"""The folders show the architecture: what `make lint` (import-linter) does not see."""

import ast
import importlib
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PACKAGES = ("depthforest", "synth")
FOLDERS = sorted(p.parent for package in PACKAGES for p in (TOP / package).rglob("__init__.py"))
ROOMS = sorted(
    p.parent.relative_to(TOP).as_posix().replace("/", ".")
    for package in PACKAGES
    for p in (TOP / package).rglob("__init__.pyi")
)
"""Packages with a face: a stub of the names that others may use."""

MOST_MODULES = 18
"""More than that in one folder, and a stranger does not see the rooms."""


def room_of(module):
    """Return the innermost room that holds a module."""
    return max((room for room in ROOMS if f"{module}.".startswith(f"{room}.")), key=len, default=module.split(".")[0])


def imports_of(path):
    """Yield the line, the module and the name of every import of our own packages in a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PACKAGES:
            assert node.level == 0
            for alias in node.names:
                yield node.lineno, node.module, alias.name


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.relative_to(TOP).as_posix())
def test_a_folder_says_what_it_is_for_and_is_small(folder):
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))
    assert docstring
    assert len(docstring.split()) >= 12
    assert len([p for p in folder.glob("*.py") if p.name != "__init__.py"]) <= MOST_MODULES


def modules():
    return [p for package in PACKAGES for p in sorted((TOP / package).rglob("*.py"))]


@pytest.mark.parametrize("path", modules(), ids=lambda p: p.relative_to(TOP).as_posix())
def test_other_rooms_are_entered_through_their_face(path):
    """A module may import any module of its own room, and of another room only names that its stub lists."""
    own = path.relative_to(TOP).with_suffix("").as_posix().replace("/", ".")
    for line, module, name in imports_of(path):
        room = room_of(module)
        is_inside = f"{own}.".startswith(f"{room}.")
        is_face = module == room or (TOP / f"{module.replace('.', '/')}/__init__.pyi").exists()
        assert is_inside or is_face, f"{path}:{line}: from {module} import {name}, which belongs to {room}"


@pytest.mark.parametrize("room", ROOMS)
def test_every_name_of_a_face_is_there(room):
    """Stubs are read when a name is used: one that does not exist would be found by a user."""
    package = importlib.import_module(room)
    stub = TOP / room.replace(".", "/") / "__init__.pyi"
    names = [
        alias.asname
        for node in ast.parse(stub.read_text()).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    assert set(names) <= set(package.__all__)
    assert set(names) <= set(dir(package))
    for name in names:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        package.nothing_of_this_name  # noqa: B018


def test_no_two_classes_share_a_name():
    """Whoever searches for a class finds one."""
    homes = {}
    for path in modules():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(path.relative_to(TOP).as_posix())
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_the_picture_of_the_layers_has_all_rooms():
    """import-linter checks that the contract has all rooms (`exhaustive`); the picture is drawn from the contract."""
    contracts = tomllib.loads((TOP / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(c["layers"] for c in contracts if c.get("containers") == ["depthforest"])
    rooms = {room.strip() for layer in layers for room in layer.split("|")}
    assert rooms == {p.name for p in (TOP / "depthforest").iterdir() if (p / "__init__.py").exists()}
    architecture = (TOP / "docs" / "ARCHITECTURE.md").read_text()
    for room in rooms:
        assert f"**`{room}`**" in architecture


def test_importing_the_package_loads_nothing_else():
    code = (
        "import sys, depthforest, synth, depthforest.ensemble, depthforest.cli\n"
        "assert {'Frame', 'load', '__version__'} <= set(dir(depthforest)) | {'__version__'}\n"
        "print(sorted({'numpy', 'numba', 'sklearn', 'cv2', 'scipy', 'rich'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)
    assert done.stdout.strip() == "[]"
