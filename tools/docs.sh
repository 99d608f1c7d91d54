#!/usr/bin/env bash
# Writes the reference pages and the pictures of the structure from the sources, then builds the documentation; warnings are errors.
set -euo pipefail
cd "$(dirname "$0")/.."

.venv/bin/python docs/reference_pages
.venv/bin/python tools/structure.py
.venv/bin/sphinx-build -q -W --keep-going -b html docs docs/_build/html
echo "the documentation: docs/_build/html/index.html"
