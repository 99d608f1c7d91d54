"""An environment with offbeat from its wheel, which is built from its sdist, and nothing of the checkout.

offbeat's dependencies are those of the running Python, and only those that the wheel names: they are linked
and not installed, so that this needs no network. ``make packages`` installs them from a registry.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from msgspec import Struct
from packaging.requirements import Requirement

REPOSITORY = Path(__file__).resolve().parents[2]

INSTALLED = "OFFBEAT_TEST_INSTALLED"
"""Variable that names an environment with offbeat, to be tested instead of one that is made."""

DISTRIBUTIONS = "OFFBEAT_TEST_DISTRIBUTIONS"
"""Variable that names a folder with an sdist and a wheel, to be tested instead of those that are built."""


class Distributions(Struct, frozen=True):
    """The two files that are given to users."""

    sdist: Path
    wheel: Path

    def sources(self) -> dict[str, bytes]:
        """The files of the sdist by their path in it."""
        with tarfile.open(self.sdist) as archive:
            files = {entry.name: archive.extractfile(entry) for entry in archive if entry.isfile()}
            return {name.partition("/")[2]: file.read() for name, file in files.items() if file}

    def installed(self) -> dict[str, bytes]:
        """The files of the wheel by their path in it."""
        with zipfile.ZipFile(self.wheel) as archive:
            return {name: archive.read(name) for name in archive.namelist()}


class Environment(Struct, frozen=True):
    """A virtual environment with offbeat, and a folder outside any checkout in which commands run."""

    prefix: Path
    folder: Path

    def variables(self) -> dict[str, str]:
        """The variables of a new shell in the activated environment, and the test run's cache of builds."""
        return {
            "PATH": f"{self.prefix / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "OFFBEAT_CACHE": os.environ["OFFBEAT_CACHE"],
        }

    def run(self, *words: object) -> str:
        """What a command prints; fails the test if it fails."""
        done = subprocess.run(
            [str(word) for word in words],
            cwd=self.folder,
            env=self.variables(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def built(folder: Path) -> Distributions:
    """The sdist of the checkout, and the wheel that is built from it."""
    if named := os.environ.get(DISTRIBUTIONS):
        folder = Path(named)
    else:
        _succeed("-m", "build", "--no-isolation", "--outdir", folder, REPOSITORY, environment=_cached(folder))
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    return Distributions(sdist, wheel)


def _cached(folder: Path) -> dict[str, str]:
    """The environment, in which ccache, if the tests use it, finds the objects of the checkout's simulator.

    The build unpacks the sources in the temporary folder. ccache compares paths relative to that folder.
    """
    launcher = os.environ.get("CMAKE_C_COMPILER_LAUNCHER")
    if launcher is None:
        return {**os.environ}
    return {
        **os.environ,
        "CMAKE_CXX_COMPILER_LAUNCHER": launcher,
        "CCACHE_BASEDIR": str(folder),
        "TMPDIR": str(folder),
    }


def environment_with(wheel: Path, prefix: Path) -> None:
    """A new environment with a wheel and links to its dependencies."""
    venv.create(prefix, symlinks=True)
    python = prefix / "bin" / "python"
    _succeed("-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps", wheel)
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(prefix)}))
    (offbeat,) = metadata.distributions(name="offbeat", path=[str(packages)])
    for distribution in _needed(offbeat):
        for name in {path.parts[0] for path in distribution.files or ()} - {"..", "__pycache__"}:
            if not (packages / name).exists():
                (packages / name).symlink_to(distribution.locate_file(name))


def _needed(distribution: metadata.Distribution) -> Iterator[metadata.Distribution]:
    """What a distribution requires, what that requires, and so on."""
    pending, seen = list(distribution.requires or ()), set()
    while pending:
        requirement = Requirement(pending.pop())
        extras = requirement.extras or {""}
        marker = requirement.marker
        if marker and not any(marker.evaluate({"extra": extra}) for extra in extras):
            continue
        if requirement.name in seen:
            continue
        seen.add(requirement.name)
        found = metadata.distribution(requirement.name)
        assert requirement.specifier.contains(found.version, prereleases=True), requirement
        pending += found.requires or ()
        yield found


def _succeed(*words: object, environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    if done.returncode:
        pytest.fail(done.stdout + done.stderr)
