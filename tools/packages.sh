#!/usr/bin/env bash
# Usage: tools/packages.sh PYTHON...
#
# Builds the sdist, and for each Python installs it, and the wheel that is built from it, in an empty environment each,
# with the dependencies that pip finds for them. Then runs tests/packaging on this environment: the native parts are
# built from the sources that the package brought. Needs a package registry. Everything is in build/packages.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$PWD/build/packages
rm -rf "$folder"
mkdir -p "$folder"
.venv/bin/python -m build --no-isolation --sdist --outdir "$folder" . >"$folder/sdist.log"
tools/python_environment.sh "$folder/twine" twine
"$folder/twine/bin/twine" check --strict "$folder"/*.tar.gz

failed=()

# of_python PYTHON NAME: all steps for an interpreter; NAME is its version.
of_python() {
    local here=$folder/$2 kind
    mkdir -p "$here/distributions"
    cp "$folder"/*.tar.gz "$here/distributions"
    PYTHON=$1 tools/python_environment.sh "$here/sdist" "$here"/distributions/*.tar.gz || return 1
    "$here/sdist/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps \
        --wheel-dir "$here/distributions" "$here"/distributions/*.tar.gz || return 1
    "$folder/twine/bin/twine" check --strict "$here"/distributions/*.whl || return 1
    PYTHON=$1 tools/python_environment.sh "$here/wheel" "$here"/distributions/*.whl || return 1
    for kind in sdist wheel; do
        echo "== Python $2, from the $kind"
        du -sh "$here/$kind" | sed 's/\s.*/ in the environment/'
        OFFBEAT_TEST_INSTALLED=$here/$kind OFFBEAT_TEST_DISTRIBUTIONS=$here/distributions \
            OFFBEAT_TEST_CACHE=$here/cache-$kind tools/test.sh tests/packaging -q || failed+=("Python $2, $kind")
    done
}

for python; do
    if ! version=$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null); then
        failed+=("$python: there is no such interpreter here")
    elif ! of_python "$python" "$version"; then
        failed+=("Python $version: not installed")
    fi
done
if ((${#failed[@]})); then
    printf 'failed: %s\n' "${failed[@]}" >&2
    exit 1
fi
echo "all packages work"
