"""``offbeat partitioned check``: offbeat's library is right on each MPI library; options and directories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from captured_command import invoke
from click.testing import Result

from offbeat.base.errors import BadInput, RunFailed
from offbeat.cli.partitioned import app
from offbeat.libraries.installations.installation import Installation
from offbeat.partitioned.conformance.check import CheckProgress, check, launch_of
from offbeat.partitioned.conformance.outcomes import CheckSettings

QUICK = ("prime-counts", "equal-tags", "startall-two", "test-not-ready", "parrived-fewer", "user-wildcard")


def run(mpi: Installation, *arguments: object) -> Result:
    return invoke(app, "check", "--mpi", mpi.mpirun, *arguments)


def chosen(*names: str) -> list[str]:
    return [word for name in names for word in ("--case", name)]


def outcomes(result: Result) -> dict[str, dict[str, Any]]:
    return {one["case"]: one for one in json.loads(result.stdout)["outcomes"]}


def test_offbeats_library_is_right_in_the_quick_cases(some_mpi_installation: Installation) -> None:
    result = run(some_mpi_installation, "--of", "offbeat", "--timeout", "60 s", *chosen(*QUICK))
    assert result.exit_code == 0
    assert "offbeat's library on" in result.stdout and "6 of 6 cases right." in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines()[:8])


def has_partitioned_functions(mpi: Installation) -> bool:
    return (mpi.family, mpi.version[0]) != ("openmpi", 4)


@pytest.mark.slow
@pytest.mark.parametrize("of", ["offbeat", "preload"])
def test_offbeats_library_is_right_in_every_case_on_each_library(
    mpi_installation: Installation, of: str
) -> None:
    if of == "preload" and not has_partitioned_functions(mpi_installation):
        with pytest.raises(BadInput, match=r"has no partitioned communication .*--of offbeat"):
            run(mpi_installation, "--of", of)
        return
    result = run(mpi_installation, "--of", of, "--timeout", "60 s", "--json", "-")
    found = outcomes(result)
    assert {name: one for name, one in found.items() if one["required"] and one["verdict"] != "right"} == {}
    refused = {name: one["verdict"] for name, one in found.items() if name.startswith("refuse-")}
    assert set(refused.values()) == {"yes"}, refused
    assert result.exit_code == 0
    assert len(found) > 60


@pytest.mark.slow
def test_a_library_that_lacks_partitioned_communication_is_named(mpi_installation: Installation) -> None:
    if has_partitioned_functions(mpi_installation):
        result = run(mpi_installation, *chosen("equal-counts"))
        assert (result.exit_code, "1 of 1 case right" in result.stdout) == (0, True)
        return
    with pytest.raises(BadInput, match=r"has no partitioned communication .*--of offbeat"):
        run(mpi_installation, *chosen("equal-counts"))


def test_a_directory_keeps_outcomes_and_refuses_other_settings(
    some_mpi_installation: Installation, tmp_path: Path
) -> None:
    kept = ("--of", "offbeat", "--output", tmp_path / "check", "--json", "-", *chosen("status"))
    first, again = (outcomes(run(some_mpi_installation, *kept)) for _ in range(2))
    assert first == again
    lines = (tmp_path / "check" / "outcomes.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1
    with pytest.raises(BadInput, match=r"with other settings .*timeout"):
        run(some_mpi_installation, *kept, "--timeout", "3 s")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--case", "no-such-case"), "--case no-such-case: known cases are equal-counts, "),
        (("--timeout", "soon"), "--timeout: 'soon' is not a time"),
        (("--timeout", "0 s"), "--timeout 0 s: give a time from 1 s"),
        (("--hostfile", "hosts.txt"), "--hostfile: give '--nodes 2', too"),
        (("--nodes", "2", "--hostfile", "missing"), "the hostfile missing cannot be read"),
    ],
)
def test_options_that_mean_nothing_are_refused(
    some_mpi_installation: Installation, arguments: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(BadInput, match=sentence):
        run(some_mpi_installation, "--of", "offbeat", *arguments)


def test_a_program_that_cannot_be_launched_ends_the_check(
    some_mpi_installation: Installation, tmp_path: Path
) -> None:
    settings = CheckSettings(library="L", of="library", timeout_s=20.0)
    launch = launch_of(some_mpi_installation, ["/bin/false"])
    with pytest.raises(RunFailed, match=r"two processes cannot be launched: .*offbeat doctor"):
        check(launch, settings, tmp_path / "check", CheckProgress())
