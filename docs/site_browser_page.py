"""A Sphinx extension that puts a page into the site which labels depth pictures in the browser.

The page is made when the site is built, by `depthforest.export`, and holds the model of `browser_page_model`. It
needs Zig's compiler (`depthforest[docs]` has it). Without it the site has no page, and the directive `browser-page`
says so in one line where it would link it.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

PAGE = "label-in-the-browser.html"

MISSING = "This site was built without Zig's compiler (pip install ziglang), so that it has no page to try."


class BrowserPage(Directive):
    """Link the page, or say why there is none."""

    page = Path(PAGE)
    """Where the page is, if it was made; `make_page` knows the folder."""

    def run(self) -> list[nodes.Node]:
        """Return one paragraph."""
        if not self.page.exists():
            return [nodes.paragraph(text=MISSING)]
        up = "../" * self.state.document.settings.env.docname.count("/")
        size = self.page.stat().st_size / 1e6
        text = f'<p><a class="browser-page" href="{up}{PAGE}">Open the page</a> ({size:.0f} MB).</p>'
        return [nodes.raw("", text, format="html")]


def make_page(app: Any) -> None:
    """Write the page into the site, unless the builder makes something else than pages."""
    BrowserPage.page = Path(app.outdir) / PAGE
    if app.builder.format != "html":
        return
    if importlib.util.find_spec("ziglang") is None:
        print(MISSING, file=sys.stderr)
        return
    from depthforest import load
    from depthforest.export import export_page

    BrowserPage.page.parent.mkdir(parents=True, exist_ok=True)
    model = app.config.browser_page_model
    export_page(load(model), BrowserPage.page, title=Path(model).stem)


def setup(app: Any) -> dict[str, Any]:
    """Register the directive, and make the page before documents are read."""
    app.add_config_value("browser_page_model", "body31-fast", "env")
    app.add_directive("browser-page", BrowserPage)
    app.connect("builder-inited", make_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
