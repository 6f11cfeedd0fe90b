"""A build hook: README and links of the package's metadata, with the repository's address from pyproject.toml.

README links to files of the checkout. A package index has none of them, so links become absolute there.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PAGES = {"Documentation": "docs/index.md", "Changelog": "CHANGELOG.md"}


def with_absolute_links(text: str, repository: str) -> str:
    """Return Markdown whose relative links and pictures lead to the repository."""

    def absolute(found: re.Match[str]) -> str:
        mark, words, target = found.groups()
        if re.match(r"https?:|#|mailto:", target):
            return found[0]
        return f"{mark}[{words}]({repository}/{'raw' if mark else 'blob'}/HEAD/{target})"

    return re.sub(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)", absolute, text)


class CustomMetadataHook(MetadataHookInterface):
    """Fill in `readme` and `urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add both to the metadata."""
        repository = self.config["repository"]
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": with_absolute_links(text, repository)}
        pages = {name: f"{repository}/blob/HEAD/{page}" for name, page in PAGES.items()}
        metadata["urls"] = {"Homepage": repository, "Issues": f"{repository}/issues", **pages}
