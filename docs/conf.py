"""Settings of the documentation site: `make docs` builds it into build/site.

The site's sources are the checkout itself, so that every relative link works here, on a code host and on the site.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TOP), str(TOP / "docs")]

import depthforest  # noqa: E402
from depthforest.base import DepthForestWarning  # noqa: E402

project = "depthforest"
author = "the depthforest developers"
release = version = depthforest.__version__
root_doc = "docs/index"

include_patterns = ["docs/**", "models/**", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
exclude_patterns = [
    "docs/tutorials/*.py",
    "docs/gallery/**",
    "docs/conf.py",
    "docs/site_*.py",
    "**/sg_execution_times.rst",
]
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",
    "site_references",
    "site_browser_page",
]

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 4
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

autodoc_typehints = "none"  # numpydoc's tables name them
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# attributes that numpydoc lists without a target, and class attributes that hold an error class
nitpick_ignore = [
    ("py:obj", "error_bound_"),
    ("py:obj", "estimators_samples_"),
    ("py:class", "depthforest.training.config.TrainConfigError"),
    ("py:class", "synth.config.ConfigError"),
]

# the scripts of docs/gallery run at every build; a script that fails or warns ends it
warnings.simplefilter("error", DepthForestWarning)
sphinx_gallery_conf = {
    "examples_dirs": "docs/gallery",
    "gallery_dirs": "docs/explanation/gallery",
    "only_warn_on_example_error": False,
    "abort_on_example_error": True,
    "plot_gallery": "True",
    "remove_config_comments": True,
    "show_memory": False,
    "capture_repr": (),  # the object that a last line returns says nothing
    "download_all_examples": False,
    "min_reported_time": 1000,
    "write_computation_times": False,
    "within_subsection_order": "FileNameSortKey",
}

html_theme = "pydata_sphinx_theme"
html_title = "depthforest"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"docs/index": []}
html_copy_source = False
html_show_sourcelink = False
templates_path: list[str] = []
copyright = "the depthforest developers, BSD 3-Clause"  # noqa: A001  # the name that Sphinx reads
