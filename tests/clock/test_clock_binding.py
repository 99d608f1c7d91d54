"""The shared clock and the harmonised start from Python, under every MPI library that mpi4py can load."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from pathlib import Path

import pytest

from offbeat.base.errors import RunFailed
from offbeat.libraries.clock import native
from offbeat.libraries.installations import build, find, probe
from offbeat.libraries.installations.assemble import identity
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.launch_command import command

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).with_name("mpi4py_program.py")

PROMISES = re.findall(r"^def (\w+)\(\) -> None:", PROGRAM.read_text(encoding="utf-8"), flags=re.MULTILINE)


@pytest.fixture(scope="module")
def finished(
    mpi_installation: Installation, mpi_driver: Path, mpi4py_environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """One launch for all promises."""
    words = [sys.executable, str(PROGRAM), *PROMISES]
    launch = command(mpi_installation, words, 3, environment=mpi4py_environment, steerable=False)
    return subprocess.run(
        launch.argv, env=launch.environment, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize("promise", PROMISES)
def test_the_binding_keeps_its_promises_with_every_library(
    promise: str, finished: subprocess.CompletedProcess[str]
) -> None:
    held = re.findall(r"^held: (\w+)", finished.stdout, flags=re.MULTILINE)
    assert promise in held, f"after {held}:\n{finished.stderr[-2000:]}"
    assert finished.returncode == 0, finished.stderr[-2000:]


@pytest.mark.parametrize(
    ("header", "name", "structure"),
    [
        ("clock.h", "offbeat_instant", native.InstantC),
        ("clock.h", "offbeat_clock_options", native.OptionsC),
        ("clock.h", "offbeat_sync_facts", native.FactsC),
        ("harmonize.h", "offbeat_start", native.StartC),
    ],
)
def test_structures_have_the_fields_of_the_headers(
    header: str, name: str, structure: type[ctypes.Structure]
) -> None:
    text = (build.native_sources() / "include" / "offbeat" / header).read_text(encoding="utf-8")
    body = re.search(rf"typedef struct {name} \{{(.*?)\}} {name};", text, flags=re.DOTALL)
    assert body, f"{header} has no {name}"
    declared = re.sub(r"/\*.*?\*/", "", body[1], flags=re.DOTALL).split(";")
    kinds = {"int64_t": ctypes.c_int64, "int": ctypes.c_int, "double": ctypes.c_double}
    kinds |= {"const char *": ctypes.c_char_p, "offbeat_verdict": ctypes.c_int}
    expected = []
    for line in filter(str.strip, declared):
        kind, names = re.fullmatch(r"\s*(const char \*|\w+)\s*([\w, ]+?)\s*", line).groups()  # type: ignore[union-attr]
        expected += [(one.strip(), kinds[kind]) for one in names.split(",")]
    assert expected == structure._fields_


def test_python_loads_what_was_built_beside_the_driver(
    mpi_installation: Installation, mpi_driver: Path
) -> None:
    library = mpi_installation.library
    version = probe.ask_library(library)
    place = build.build_folder(version.family, version.numbers, identity(library, version))
    assert place.parent == mpi_driver.parents[2]
    assert _library(place) == _library(mpi_driver.parents[1])
    assert build.built_library(mpi_driver.parents[1], build.HARMONIZE) is not None


def test_an_installation_is_found_by_its_library(mpi_installation: Installation) -> None:
    installation = find.installation_of_library(mpi_installation.library.resolve())
    assert installation.library.resolve() == mpi_installation.library.resolve()
    assert installation.identity == mpi_installation.identity


def test_a_library_without_an_installation_is_reported(tmp_path: Path) -> None:
    with pytest.raises(
        RunFailed, match=r"no MPI installation that offbeat knows belongs to .*libmpi\.so\.40"
    ):
        find.installation_of_library(tmp_path / "libmpi.so.40")


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ([], "mpi4py has loaded no libmpi.so that offbeat knows"),
        (["/usr/lib/libmpi_cxx.so.40", "/usr/lib/libmpifoo.so"], "mpi4py has loaded no libmpi.so"),
        (["/a/libmpi.so.40", "/b/libmpi.so.12"], "/a/libmpi.so.40 and /b/libmpi.so.12: two MPI libraries"),
    ],
)
def test_a_process_without_exactly_one_mpi_library_is_reported(
    tmp_path: Path, files: list[str], sentence: str
) -> None:
    with pytest.raises(RunFailed, match=re.escape(sentence)):
        native.loaded_mpi(_maps(tmp_path, files))


@pytest.mark.parametrize("name", ["libmpi.so.40.30.4", "libmpi.so.12", "libmpich.so.12.2.2", "libmpi.so"])
def test_the_mpi_library_of_a_process_is_found(tmp_path: Path, name: str) -> None:
    files = [
        "/usr/lib/libc.so.6",
        f"/opt/with blank/{name}",
        f"/opt/with blank/{name}",
        "/x/libmpi_mpifh.so.40",
    ]
    assert native.loaded_mpi(_maps(tmp_path, files)) == Path(f"/opt/with blank/{name}")


def test_without_mpi4py_a_sentence_says_what_to_do() -> None:
    code = "import sys; sys.modules['mpi4py'] = None; from offbeat import harmonize; harmonize(None)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (
        "offbeat.base.errors.BadInput: the shared clock is used through mpi4py, which cannot be imported"
        in done.stderr
    )
    assert "pip install mpi4py" in done.stderr


def test_importing_the_room_loads_neither_mpi_nor_the_library() -> None:
    code = "import sys, offbeat.libraries.clock; print('mpi4py' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split() == ["False", "False"]


def _library(place: Path) -> str:
    """The part of a cache folder's name that identifies its library: all but the digest of the sources."""
    return place.name.rpartition("-")[0]


def _maps(folder: Path, files: list[str]) -> Path:
    """The memory map of a process, as in /proc."""
    path = folder / "maps"
    lines = [
        "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 ",
        "7ffc0000-7ffd0000 rw-p 00000000 00:00 0  [stack]",
    ]
    lines += [f"7f1234500000-7f1234600000 r-xp 00001000 fd:01 1234567    {name}" for name in files]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
