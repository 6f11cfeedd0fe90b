"""Model cards as HTML: the Markdown file beside a model, and facts from the model file.

A card is untrusted: none of its HTML reaches the page, and no attributes except link addresses and the first numbers of
lists.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from depthforest.base import DepthForestError, read_bytes
from depthforest.forest import Forest

MAX_CARD_BYTES = 200_000
"""Longest card in bytes; a longer file is not a card and is left out."""

LINKED = ("http://", "https://", "mailto:")
"""Addresses that stay links. Others lead to files beside the card, which the report does not include, or run code."""


def find_card(model: Path | None) -> str:
    """Return the text of the card beside a model file, NAME.md; empty if there is no readable one."""
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
    """Return facts about a forest, as (name, value) lines."""
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
    return str(_markdown(top).render(text)).rstrip("\n")


class _CardMarkdown(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: ARG002, N802
        """Accept every link; `_restrain` decides which stay."""
        return True


@lru_cache(maxsize=4)
def _markdown(top: int) -> MarkdownIt:
    """Return a renderer of CommonMark and tables that lets no HTML through."""
    markdown = _CardMarkdown("commonmark", {"html": False}).enable("table").disable("image")
    markdown.core.ruler.push("restrain", partial(_restrain, top=top))
    markdown.add_render_rule("table_open", lambda *_: '<div class="scroll"><table>\n')
    markdown.add_render_rule("table_close", lambda *_: "</table></div>\n")
    return markdown


def _restrain(state: StateCore, *, top: int) -> None:
    """Demote the headings; remove all attributes except the first numbers of lists and allowed addresses."""
    for token in state.tokens:
        token.attrs, token.info = {name: value for name, value in token.attrs.items() if name == "start"}, ""
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, top + int(token.tag[1:]) - 1)}"
        if token.children is not None:
            token.children = list(_without_other_links(token.children))


def _without_other_links(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield the tokens of a line; of links that are not allowed, only the text. Links do not nest."""
    is_kept = False
    for token in tokens:
        if token.type == "link_open":
            address = str(token.attrGet("href"))
            is_kept = address.lower().startswith(LINKED)
            token.attrs = {"href": address}
        else:
            token.attrs = {}
        if is_kept or token.type not in ("link_open", "link_close"):
            yield token
