"""The command line and the Python code that reproduce what the page shows."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any


def command_line(sources: Sequence[str], model: str, reading: Mapping[str, Any], people: Mapping[str, Any]) -> str:
    """Return a `depthforest label` that labels the sources as they are shown.

    Parameters
    ----------
    sources : sequence of str
    model : str
        The shipped name or the file of the forest.
    reading : mapping
        camera, scale, flip, rotate, size, topic; empty values are left out.
    people : mapping
        background, background_removed, people, track: the options of `label` of these names.
    """
    words = ["depthforest", "label", *sources, "--model", model]
    for name, value in {**reading, **people}.items():
        if value is True:
            words.append(f"--{name.replace('_', '-')}")
        elif value not in (None, "", 0, False):
            words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join([*words, "--write", "parts,overlay,joints", "-o", "labels"])


def python_lines(sources: Sequence[str], model: str, reading: Mapping[str, Any], people: Mapping[str, Any]) -> str:
    """Return Python that labels the sources as they are shown; parameters as in `command_line`."""
    source = repr(sources[0]) if len(sources) == 1 else repr(list(sources))
    how = "".join(f", {n}={_value(n, v)}" for n, v in reading.items() if v not in (None, "", 0, False))
    lines = ["import depthforest as df", "", f"forest = df.load({model!r})"]
    n = f"n={people['people']}" if people.get("people") else ""
    room = "room" if people.get("background") else ""
    if room:
        lines.append(f"room = df.Background.learn(df.open_source({people['background']!r}{how}))")
    if people.get("track"):
        lines.append(f"tracker = df.PeopleTracker({', '.join(filter(None, (room, n)))})")
    lines.append(f"for frame in df.open_source({source}{how}):")
    if people.get("background_removed"):
        lines.append("    people = [frame.depth_mm > 0]")
    elif people.get("track"):
        lines.append("    people = tracker.add(frame)")
    else:
        lines.append(f"    people = df.find_people({', '.join(filter(None, ('frame', room, n)))})")
    lines += [
        "    for mask in people:",
        "        labels = forest.label(frame, mask)",
        "        joints = df.find_joints(frame, labels)",
    ]
    return "\n".join(lines)


def _value(name: str, value: Any) -> str:
    if name == "scale" and isinstance(value, str):
        try:
            return repr(float(value))
        except ValueError:
            return repr(value)
    return repr(value)
