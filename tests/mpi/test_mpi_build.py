"""The native build is cached, complete, done once, and reports its failure in a sentence."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
from pathlib import Path

import pytest
from installation_factory import described

from offbeat.base.errors import RunFailed
from offbeat.libraries.installations import build
from offbeat.libraries.installations.installation import Installation

pytestmark = pytest.mark.slow

PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(small LANGUAGES C)
add_executable(offbeat-driver main.c)
install(TARGETS offbeat-driver RUNTIME DESTINATION bin)
"""


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that builds quickly, instead of offbeat's native parts."""
    folder = tmp_path / "native"
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
    (folder / "main.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
    monkeypatch.setattr(build, "native_sources", lambda: folder)
    return folder


@pytest.fixture
def installation() -> Installation:
    return described("openmpi", 5, 0, 11)


def test_the_first_build_is_announced_and_not_repeated(
    sources: Path, installation: Installation, tmp_path: Path
) -> None:
    messages: list[str] = []
    driver = build.build_native(installation, tmp_path / "cache", messages.append)
    assert os.access(driver, os.X_OK)
    assert driver == build.driver_path(installation, tmp_path / "cache")
    assert [message.split()[0] for message in messages] == ["Building"]
    before = driver.stat().st_mtime_ns
    assert build.build_native(installation, tmp_path / "cache", messages.append) == driver
    assert (len(messages), driver.stat().st_mtime_ns) == (1, before)


def test_a_changed_source_is_built_beside_the_old_build(
    sources: Path, installation: Installation, tmp_path: Path
) -> None:
    old = build.build_native(installation, tmp_path / "cache")
    (sources / "main.c").write_text("int main(void) { return 3; }\n", encoding="utf-8")
    new = build.build_native(installation, tmp_path / "cache")
    assert new != old
    assert subprocess.run([new], check=False).returncode == 3
    assert old.exists()


@pytest.mark.parametrize("change", ["header", "compiler flags", "library"])
def test_everything_that_a_build_depends_on_is_part_of_its_path(
    sources: Path, installation: Installation, tmp_path: Path, change: str
) -> None:
    before = build.driver_path(installation, tmp_path, {})
    environ: dict[str, str] = {}
    if change == "header":
        (sources / "new.h").write_text("#define NEW 1\n", encoding="utf-8")
    elif change == "compiler flags":
        environ["CFLAGS"] = "-O0"
    else:
        installation = described("openmpi", 5, 0, 12)
    assert build.driver_path(installation, tmp_path, environ) != before


def test_other_files_than_sources_do_not_change_the_path(
    sources: Path, installation: Installation, tmp_path: Path
) -> None:
    before = build.driver_path(installation, tmp_path)
    (sources / "notes.md").write_text("words\n", encoding="utf-8")
    assert build.driver_path(installation, tmp_path) == before


def test_a_failed_build_says_the_compilers_error_and_where_the_log_is(
    sources: Path, installation: Installation, tmp_path: Path
) -> None:
    (sources / "main.c").write_text("int main(void) { return nonsense; }\n", encoding="utf-8")
    with pytest.raises(RunFailed, match=r"nonsense.* undeclared.*\(complete log: (.*\.log)\)") as failure:
        build.build_native(installation, tmp_path / "cache")
    log = Path(str(failure.value).rsplit(": ", 1)[1].rstrip(")"))
    assert "cmake" in log.read_text(encoding="utf-8")
    left = [path.name for path in (tmp_path / "cache/native").iterdir()]
    assert sorted(Path(name).suffix for name in left) == [".lock", ".log"]


def test_a_build_after_a_failed_one_succeeds(
    sources: Path, installation: Installation, tmp_path: Path
) -> None:
    (sources / "CMakeLists.txt").write_text("nonsense(\n", encoding="utf-8")
    with pytest.raises(RunFailed, match="Parse error"):
        build.build_native(installation, tmp_path)
    (sources / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
    assert build.build_native(installation, tmp_path).exists()


def test_a_build_without_its_driver_is_repeated(
    sources: Path, installation: Installation, tmp_path: Path
) -> None:
    driver = build.build_native(installation, tmp_path)
    driver.unlink()
    assert build.build_native(installation, tmp_path).exists()


def _build(installation: Installation, sources: Path, cache: Path, queue: multiprocessing.Queue) -> None:
    build.native_sources = lambda: sources  # type: ignore[assignment]
    queue.put(str(build.build_native(installation, cache, queue.put)))


def test_two_processes_that_need_the_same_build_build_it_once(
    sources: Path, installation: Installation, tmp_path: Path
) -> None:
    # The compiler waits until the second process has said that it waits, too.
    go_on = tmp_path / "go-on"
    (sources / "CMakeLists.txt").write_text(
        PROJECT + f'execute_process(COMMAND sh -c "until [ -e {go_on} ]; do sleep 0.1; done")\n',
        encoding="utf-8",
    )
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    arguments = (installation, sources, tmp_path / "cache", queue)
    processes = [context.Process(target=_build, args=arguments) for _ in range(2)]
    for process in processes:
        process.start()
    waiting, begun = sorted(queue.get(timeout=60) for _ in range(2))
    go_on.touch()
    drivers = {queue.get(timeout=60) for _ in range(2)}
    for process in processes:
        process.join()
        assert process.exitcode == 0
    title = f"the native parts for {installation.version_text}"
    assert begun.startswith(f"Building {title} in ")
    assert waiting == f"Another process builds {title}; waiting for that process"
    assert drivers == {str(build.driver_path(installation, tmp_path / "cache"))}
    assert queue.empty()


def test_an_unwritable_cache_is_named_with_a_remedy(
    sources: Path, installation: Installation, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(RunFailed, match=r"cannot be built in .*/file/native: .*set OFFBEAT_CACHE"):
        build.build_native(installation, tmp_path / "file")


def test_without_cmake_the_message_says_how_to_install_it(
    sources: Path, installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build.sys, "prefix", str(tmp_path))
    with pytest.raises(RunFailed, match=r"cmake is not on PATH.*pip install cmake"):
        build.build_native(installation, tmp_path / "cache", environ={"PATH": str(tmp_path)})


def test_the_environment_sets_the_place_of_the_cache() -> None:
    assert build.cache_folder({"OFFBEAT_CACHE": "/scratch/me", "XDG_CACHE_HOME": "/x"}) == Path("/scratch/me")
    assert build.cache_folder({"XDG_CACHE_HOME": "/x", "HOME": "/home/me"}) == Path("/x/offbeat")
    assert build.cache_folder({"HOME": "/home/me"}) == Path("/home/me/.cache/offbeat")
