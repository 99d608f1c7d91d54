"""``offbeat.tune`` on a real library, called in a thread as notebooks may call it."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from exchanges import BRUCK, built

import offbeat
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.launch_command import command

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("mpi_installation", ["openmpi4"], indirect=True)
def test_a_notebook_tunes_a_program_and_resumes(
    mpi_installation: Installation,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    program = built(mpi_installation, tmp_path)
    launch = command(mpi_installation, [str(program), "400", "262144"], 2, steerable=False, environment=BRUCK)
    for name, value in launch.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)

    def tuned() -> offbeat.TunedProgram:
        return offbeat.tune(launch.argv, "tuned", budget="2min", mpi=str(mpi_installation.mpirun))

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(tuned).result()
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "the program runs once with the tracer" in printed.err
    assert [one["calls"] for one in first.table().iter_rows(named=True)] == ["alltoall of 256 KiB on p=2"]
    # empty: noise hides the gain of the calls
    assert set(first.times_s) <= {"as_started", "default", "tuned", "in_program"}
    shown = first._repr_html_()
    assert first.verdict.split(":")[0] in shown
    assert str(first.report) in shown
    assert 'alt="Share of the run time by collective: MPI_Alltoall' in shown
    assert first.report.is_file()
    if first.is_faster:  # else the machine was too noisy to show it
        assert 0 < first.interval[0] <= first.gain <= first.interval[1]
    if (
        first.is_faster and first.files
    ):  # else the library's own decisions are faster than the user's settings
        assert all(Path(file).is_file() for file in first.files)
        assert any(str(file) in value for file in first.files for value in first.environment.values())
        assert all("tuned/tuning/" in line for line in first.usage)
    assert first.trace.table()["function"][0] == "MPI_Alltoall"

    again = tuned()
    assert again.times_s == first.times_s
    files = again.results().select(bootstrap=0).export(tmp_path / "files")
    proved = files.verify()
    assert proved.is_obeyed, proved.why_not
    assert "1 of 1 rule verified" in proved._repr_html_()
    os.truncate(files.files[0], 0)
    with pytest.raises(offbeat.RunFailed, match="changed since"):
        files.verify().raise_if_not_obeyed()


def test_a_command_that_cannot_be_tuned_is_refused_before_anything_runs(tmp_path: Path) -> None:
    for words, options, message in (
        ("", {}, "there is no command"),
        ("no-such-launcher -n 2 ./app", {}, "no such program"),
        ("true", {"budget": "soon"}, "--budget"),
        ("true", {"budget": -1.0}, "--budget"),
        ("true", {"share": 0.0}, "--share 0: write a share from 0.01 to 1"),
    ):
        with pytest.raises(offbeat.BadInput, match=message):
            offbeat.tune(words, tmp_path / "out", **options)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()
