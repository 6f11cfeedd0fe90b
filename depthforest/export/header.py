"""The header: a forest as one file of C99 that labels frames exactly as `Forest.label(..., exact=True)` does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from depthforest import __version__
from depthforest.base import UsageError, check_writable, replacing
from depthforest.export.jointheader import joints_text
from depthforest.export.literals import byte_lines, check_name, name_of, number, numbers, quoted
from depthforest.export.renaming import renamed, template
from depthforest.export.tables import BLOB_HEADER, Tables, tables_of
from depthforest.frames import NO_PART
from depthforest.labeling import calibration_table
from depthforest.trees import COARSE_PIXELS, ContextTrees, DepthTrees, facings

COLUMNS = 8
"""A pixel's sums have a multiple of this many columns, so that they fill vector registers."""

PERSON_BYTES = 320
"""Bytes that labeling reserves at the start of the scratch memory: five cache lines hold 32 facings."""

_ABOUT = """\
/* {name}.h: a forest that labels the pixels of a person in a depth image, as one header of C99.
 *
 * Made by depthforest {version}; {trees} trees, {leaves} leaves, {parts} parts, {facings} facings. {tables}
 *
 * Include it in one source file. It allocates nothing and needs no library, not even that of mathematics.
 * {name}_label gives the same parts and probabilities, bit by bit, as Forest.label(..., exact=True) in Python, at every
 * level of optimization, with or without fused multiply-add; -ffast-math is refused. -O3 and the instructions of your
 * processor (-march=native) make it fast. Several threads may label at a time, each with scratch memory of its own.
 */
"""


def export_c(
    forest: DepthTrees,
    path: str | Path,
    *,
    name: str | None = None,
    blob: bool = False,
    joints: bool = False,
    example: bool = False,
) -> list[Path]:
    """Write a forest as a C header, and return the files that were written.

    Parameters
    ----------
    forest : DepthTrees
    path : path
        Path of the header, NAME.h.
    name : str, optional
        Prefix of functions, types and constants. Default: the file's name.
    blob : bool
        Write the tables to NAME.bin beside it, for mapping into memory, instead of into the header.
    joints : bool
        Write NAME_joints.h too, which finds joints.
    example : bool
        Write NAME_example.c too, a program that labels a PGM file.
    """
    target = Path(path)
    if target.suffix != ".h":
        raise UsageError(f"{target}: a header's name ends in .h")
    prefix = name_of(target.stem) if name is None else check_name(name)
    tables = tables_of(forest)
    others: dict[Path, bytes] = {}
    if blob:
        others[target.with_suffix(".bin")] = tables.blob
    if joints:
        others[target.with_name(f"{target.stem}_joints.h")] = joints_text(forest, target.name, prefix).encode()
    if example:
        code = example_code(target.name, prefix, is_blob=blob)
        others[target.with_name(f"{target.stem}_example.c")] = code.encode()
    for one in (target, *others):
        check_writable(one)
    with replacing(target) as file:
        for piece in header_pieces(forest, tables, prefix, is_blob=blob):
            file.write(piece.encode())
    for one, content in others.items():
        with replacing(one) as file:
            file.write(content)
    return [target, *others]


def header_pieces(forest: DepthTrees, tables: Tables, name: str, *, is_blob: bool) -> Iterator[str]:
    """Yield the text of a header, piece by piece: it may be long."""
    where = f"The tables are in {name}.bin: see df_open." if is_blob else "The tables are at the end."
    about = _ABOUT.format(
        name=name,
        version=__version__,
        trees=forest.n_trees,
        leaves=forest.n_leaves,
        parts=len(forest.part_set),
        facings=forest.n_facings,
        tables=where,
    )
    yield renamed(about, name)
    yield renamed(
        "#ifndef DF_H\n#define DF_H\n\n"
        "#include <float.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n\n",
        name,
    )
    yield renamed(_constants(forest, tables), name)
    context = "" if forest.context is None else template("context.h")
    yield renamed(template("label.h").replace("/* context.h */\n", context), name)
    if not is_blob:
        yield from _data(tables, name)
    yield "\n#endif\n"


def example_code(header: str, name: str, *, is_blob: bool) -> str:
    """Return the example program of a header."""
    code = template("example.c").replace("df.h", header)
    kept = re.sub(r"#if DF_IS_BLOB\n(.*?)#else\n(.*?)#endif\n", r"\1" if is_blob else r"\2", code, flags=re.DOTALL)
    return renamed(kept, name)


def _constants(forest: DepthTrees, tables: Tables) -> str:
    """Return the constants that the template's code is compiled with."""
    n_parts, n_facings = len(forest.part_set), forest.n_facings
    n_evidence = n_facings if n_facings > 1 else 0
    powers = calibration_table(forest, is_smoothed=forest.smooth_m > 0)
    values: dict[str, str] = {
        "PARTS": str(n_parts),
        "NO_PART": str(NO_PART),
        "TREES": str(forest.n_trees),
        "WALKS": "2" if forest.mirror else "1",
        "FACINGS": str(n_facings),
        "BACKGROUND_MM": str(forest.background_mm),
        "SMOOTHS": "1" if forest.smooth_m > 0 else "0",
        "SMOOTH_M": number(forest.smooth_m),
        "CALIBRATED": str(0 if powers is None else len(powers) - 1),
        "UNIT": f"{number(tables.unit)}f",
        "COLUMNS": str(-(-n_parts // COLUMNS) * COLUMNS),
        "NODE_BYTES": str(tables.node_bytes),
        "EVIDENCE_BYTES": str(n_evidence),
        "RECORD_BYTES": f"{n_evidence + n_facings}u",
        "PERSON_BYTES": f"{PERSON_BYTES}u",
        "BLOB_HEADER": f"{BLOB_HEADER}u",
        "BLOB_MAGIC": " ".join(byte_lines(tables.magic)),
        "CONTEXT": "0" if forest.context is None else "1",
    }
    lines = [f"#define DF_{key} {value}\n" for key, value in values.items()]
    lines.append(f"\ntypedef {'int16_t' if tables.is_whole else 'float'} df_offset_t;\n\n")
    if powers is not None:
        table = ", ".join(f"{number(float(value))}f" for value in powers)
        lines.append(f"static const float df_powers[DF_CALIBRATED + 1] = {{{table}}};\n\n")
    names = ",\n    ".join(quoted(part) for part in forest.part_set.names)
    lines.append(f"static const char *const df_part_names[DF_PARTS] = {{\n    {names}}};\n\n")
    colors = ", ".join("{" + ", ".join(map(str, color)) + "}" for color in forest.part_set.colors)
    lines.append(f"/* red, green, blue */\nstatic const uint8_t df_part_colors[DF_PARTS][3] = {{\n    {colors}}};\n\n")
    own, mirrored = (", ".join(map(str, labels)) for labels in (range(n_parts), forest.part_set.mirror))
    lines.append(
        "/* what the parts of a leaf are in the picture, and in the mirrored one */\n"
        f"static const uint8_t df_names[2][DF_PARTS] = {{\n    {{{own}}},\n    {{{mirrored}}}}};\n\n"
    )
    lines.append(
        "static inline const char *df_part_name(int part) {\n"
        '    return part >= 0 && part < DF_PARTS ? df_part_names[part] : "";\n}\n\n'
        "static inline const uint8_t *df_part_color(int part) {\n"
        "    return part >= 0 && part < DF_PARTS ? df_part_colors[part] : 0;\n}\n\n"
    )
    if forest.context is not None:
        lines.append(_context_constants(forest, forest.context))
    return "".join(lines)


def _context_constants(forest: DepthTrees, context: ContextTrees) -> str:
    """Return the constants that the context stage's code is compiled with."""
    groups, n_facings = context.groups, forest.n_facings
    turns = np.array([facings.direction(facing, n_facings) for facing in range(n_facings)])
    channels = [np.arange(groups.n_channels), groups.mirror_table(forest.part_set)]
    values = {
        "CONTEXT_TREES": str(context.n_trees),
        "CONTEXT_UNIT": f"{number(float(np.float32(context.unit_m)))}f",
        "COARSE_PIXELS": str(COARSE_PIXELS),
        "GROUPS": str(groups.n),
        "CHANNELS": str(groups.n_channels),
    }
    lines = [f"#define DF_{key} {value}\n" for key, value in values.items()]
    for entry, content in (
        ("uint8_t df_groups[DF_PARTS]", groups.of_part),
        ("uint8_t df_is_head[DF_GROUPS]", [int(group in groups.head) for group in range(groups.n)]),
        ("uint8_t df_is_trunk[DF_GROUPS]", [int(group in groups.trunk) for group in range(groups.n)]),
        ("uint8_t df_channels[2][DF_CHANNELS]", np.array(channels, dtype=np.int64)),
        ("double df_turns[2][DF_FACINGS]", turns.T),
    ):
        lines.append(f"static const {entry} = {numbers(content)};\n")
    about = "the context stage: groups of parts, channels in the picture and in the mirrored one, x and z of facings"
    return f"\n/* {about} */\n{''.join(lines)}\n"


def _data(tables: Tables, name: str) -> Iterator[str]:
    """Yield the tables as constants, and the struct that points to them."""
    content = tables.content
    begins = np.cumsum([0, len(tables.nodes), len(tables.leaves), len(tables.context_nodes)]).tolist()
    rest = ""
    if tables.context_nodes:
        rest = (
            f",\n    df_data.bytes + {begins[2]}, df_data.bytes + {begins[3]}, "
            f"{tables.n_context_rows}u, {len(tables.context_leaves)}u"
        )
    yield renamed(
        "\n/* -- the tables: nodes, then leaves; a string, because compilers read lists of numbers slowly ---- */\n\n"
        "#if defined(__GNUC__)\n#pragma GCC diagnostic push\n"
        '#pragma GCC diagnostic ignored "-Woverlength-strings"\n#endif\n'
        f"static const union {{\n    unsigned char bytes[{len(content)}];\n    uint64_t aligned;\n}} df_data = {{\n",
        name,
    )
    for line in byte_lines(content):
        yield line + "\n"
    yield renamed(
        "};\n#if defined(__GNUC__)\n#pragma GCC diagnostic pop\n#endif\n\n"
        "static const df_forest df_tables = {\n"
        f"    df_data.bytes, df_data.bytes + {begins[1]}, {tables.n_rows}u, {len(tables.leaves)}u{rest}}};\n",
        name,
    )
