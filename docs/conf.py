"""Sphinx settings; `make docs` builds the pages, `make lint` checks them."""

from offbeat import __version__

project = "offbeat"
author = "the offbeat authors"
copyright = "the offbeat authors, BSD-3-Clause"
release = __version__

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

exclude_patterns = ["_build", "reference_pages"]
html_theme = "furo"
html_title = f"offbeat {release}"
html_static_path: list[str] = []
# No intersphinx and no web fonts: the build and the pages need no network.
