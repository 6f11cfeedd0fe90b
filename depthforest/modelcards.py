"""Model cards as HTML: the Markdown file beside a model, and what the model file says of itself.

Knows the Markdown that our cards use: headings, paragraphs, lists, tables, fenced code; bold, code and links within a
line. Text is escaped first, so that a card cannot bring anything else into the page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from depthforest.errors import DepthForestError
from depthforest.files import read_bytes
from depthforest.forest import Forest

MAX_CARD_BYTES = 200_000
"""A longer card is left out: it is no card."""


def find_card(model: Path | None) -> str:
    """Return the text of the card beside a model file, NAME.md; empty if there is none that can be read."""
    if model is None:
        return ""
    path = model.with_suffix(".md")
    try:
        if not path.is_file() or path.stat().st_size > MAX_CARD_BYTES:
            return ""
        return read_bytes(path, DepthForestError).decode("utf-8", errors="replace")
    except (OSError, DepthForestError):
        return ""


def describe_forest(forest: Forest) -> list[tuple[str, str]]:
    """Return what a forest says of itself, as (name, value) lines."""
    facts = [
        ("trees", f"{forest.n_trees}"),
        ("depth", f"{forest.depth}"),
        ("nodes", f"{forest.n_nodes:,}"),
        ("leaves", f"{forest.n_leaves:,}"),
        ("parts", f"{len(forest.part_set)}"),
        ("background", f"{forest.background_mm} mm"),
        ("mirrored walk", "yes" if forest.mirror else "no"),
        ("joint parameters", "fitted" if forest.joints else "defaults"),
    ]
    return [*facts, *_entries("config", forest.config), *_entries("scores", forest.scores)]


def _entries(prefix: str, content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in content.items():
        if isinstance(value, Mapping) and value:
            yield from _entries(f"{prefix}.{key}", value)
        else:
            text = value if isinstance(value, str) else json.dumps(value)
            yield f"{prefix}.{key}", text if len(text) <= 200 else text[:197] + "..."


def render(text: str, *, top: int = 3) -> str:
    """Return Markdown as HTML; its first heading becomes `<h{top}>`."""
    lines = text.replace("\r\n", "\n").split("\n")
    pieces: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("```"):
            end = next((i for i in range(at + 1, len(lines)) if lines[i].startswith("```")), len(lines))
            pieces.append(f"<pre><code>{escape(chr(10).join(lines[at + 1 : end]))}</code></pre>")
            at = end + 1
            continue
        end = at + 1
        if heading := re.match(r"(#{1,6})\s+(.*)", line):
            level = min(6, top + len(heading[1]) - 1)
            pieces.append(f"<h{level}>{_inline(heading[2])}</h{level}>")
        elif line.startswith("|"):
            while end < len(lines) and lines[end].startswith("|"):
                end += 1
            pieces.append(_table(lines[at:end]))
        elif re.match(r"[-*]\s", line):
            while end < len(lines) and (re.match(r"[-*]\s", lines[end]) or lines[end].startswith("  ")):
                end += 1
            pieces.append(_list(lines[at:end]))
        elif line.strip():
            while end < len(lines) and lines[end].strip() and not re.match(r"```|#{1,6}\s|\||[-*]\s", lines[end]):
                end += 1
            pieces.append(f"<p>{_inline(' '.join(lines[at:end]))}</p>")
        at = end
    return "\n".join(pieces)


def _table(lines: Sequence[str]) -> str:
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    is_rule = [all(re.fullmatch(r":?-+:?", cell) for cell in row) for row in rows]
    body = [row for row, is_r in zip(rows, is_rule, strict=True) if not is_r]
    first = 1 if len(rows) > 1 and is_rule[1] else 0
    head = "".join(f"<thead><tr>{_cells(row, 'th')}</tr></thead>" for row in body[:first])
    rest = "".join(f"<tr>{_cells(row, 'td')}</tr>" for row in body[first:])
    return f'<div class="scroll"><table>{head}<tbody>{rest}</tbody></table></div>'


def _cells(row: Sequence[str], tag: str) -> str:
    return "".join(f"<{tag}>{_inline(cell)}</{tag}>" for cell in row)


def _list(lines: Sequence[str]) -> str:
    items: list[str] = []
    for line in lines:
        if re.match(r"[-*]\s", line):
            items.append(line[2:].strip())
        else:
            items[-1] += " " + line.strip()
    return f"<ul>{''.join(f'<li>{_inline(item)}</li>' for item in items)}</ul>"


def _inline(text: str) -> str:
    """Return a line with its code, bold and links; what is in code stays as it is."""
    shown = []
    for i, piece in enumerate(re.split(r"`([^`]+)`", text)):
        if i % 2:
            shown.append(f"<code>{escape(piece)}</code>")
            continue
        piece = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", escape(piece))
        piece = re.sub(r"\[([^\]]+)\]\((https?://[^)\s\"]+)\)", r'<a href="\2">\1</a>', piece)
        # other links lead to files beside the card, which the report does not hold
        shown.append(re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", piece))
    return "".join(shown)
