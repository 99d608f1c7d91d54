"""``offbeat platform calibrate``, with real libraries and with stored measurements."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from real_libraries import real_installation
from synthetic import SyntheticProbe, machine_of
from typer.testing import CliRunner, Result

from offbeat.base.errors import BadInput
from offbeat.cli.platform import app
from offbeat.libraries.calibration import driver_probe, measured_times
from offbeat.libraries.calibration.calibration import parse_largest
from offbeat.libraries.calibration.measurement_plan import Machine, measure
from offbeat.model.platform import machine


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["calibrate", *arguments], catch_exceptions=True)


@pytest.fixture
def measurements_file(tmp_path: Path) -> Path:
    """Measurements of the paper's cluster, in a file."""
    processes = machine_of(2, 4)
    probe = SyntheticProbe(machine.load("paper"), processes)
    path = tmp_path / "kept.json"
    measured_times.write(measure(probe, processes, lambda _: None, 2**20), path)
    return path


@pytest.mark.alone
def test_two_processes_of_a_real_library_make_a_platform_of_one_node(own_cache: Path, tmp_path: Path) -> None:
    prefix = str(real_installation("openmpi5").prefix)
    output, picture, measurements_file = tmp_path / "here.toml", tmp_path / "here.svg", tmp_path / "here.json"
    arguments = ["--mpi", prefix, "--ppn", "2", "--largest", "64 KiB", "-o", str(output)]
    done = run(*arguments, "--picture", str(picture), "--measurements", str(measurements_file))
    assert done.exit_code == 0, done.exception
    assert "the model's median error is" in done.stdout and "Only one node was measured" in done.stdout
    assert picture.stat().st_size > 1000

    platform_file = machine.load(output).file
    taken = measured_times.read(measurements_file)
    assert (
        platform_file.nodes == 1
        and platform_file.inside.bandwidth > 1e7
        and 0 < platform_file.inside.latency < 1
    )
    assert taken.inside and taken.between is None
    assert [point.bytes for point in taken.inside.messages][-1] == 65536
    assert len(taken.reduce) == len(taken.copy) > 2
    memory = platform_file.memory
    assert 1e8 < memory.core_bandwidth <= memory.bandwidth < 1e13 and platform_file.flop_rate > 1e7
    assert 0 < platform_file.flop_noise <= 1
    assert taken.memory and [one.ranks for one in taken.memory.traffic] == [1, 2]
    assert "exchange in a domain" in done.stdout
    assert "Only one node was measured" in output.read_text(encoding="utf-8")
    assert machine.load(output).network(2).p == 2

    again = tmp_path / "again.toml"
    assert run("--refit", str(measurements_file), "-o", str(again)).exit_code == 0
    assert again.read_text(encoding="utf-8") == output.read_text(encoding="utf-8")


def test_stored_measurements_are_fitted_again_without_measuring(
    measurements_file: Path, tmp_path: Path
) -> None:
    output = tmp_path / "again.toml"
    done = run("--refit", str(measurements_file), "-o", str(output), "--picture", str(tmp_path / "x.png"))
    assert done.exit_code == 0, done.exception
    assert "between two nodes" in done.stdout and "inside a node" in done.stdout
    assert machine.load(output).file.link.bandwidth == pytest.approx(1.25e9 * 0.940694, rel=0.02)
    assert run("--refit", str(measurements_file), "-o", str(output)).exception is not None
    assert run("--refit", str(measurements_file), "-o", str(output), "--force").exit_code == 0


def test_a_base_supplies_the_network_that_one_node_cannot_measure(tmp_path: Path) -> None:
    processes = machine_of(1, 2)
    taken = measure(SyntheticProbe(machine.load("paper"), processes), processes, lambda _: None, 2**20)
    measured_times.write(taken, tmp_path / "one.json")
    output = tmp_path / "based.toml"
    done = run("--refit", str(tmp_path / "one.json"), "-o", str(output), "--base", "griffon")
    assert "are those of griffon" in done.stdout
    assert machine.load(output).file.fat_tree == machine.load("griffon").file.fat_tree


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--largest", "10"], "write a size between 1 KiB and 1 GiB"),
        (["--largest", "4 MB/s"], "is not a size|not a unit of size"),
        (["--refit", "nowhere.json"], "cannot be read: No such file"),
        (["--base", "nothing"], "'nothing' is not a platform"),
        (["--mpi", "no-such-library"], "no MPI installation of that name"),
        (["-o", "no/such/folder.toml"], "there is no folder"),
        (["--measurements", "no/such/folder.json"], "there is no folder"),
    ],
)
def test_invalid_options_are_refused_before_anything_is_launched(
    arguments: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = run(*arguments)
    assert isinstance(refused.exception, BadInput)
    assert any(part in str(refused.exception) for part in sentence.split("|"))
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "platform.toml").write_text("x", encoding="utf-8")
    refused = run("-o", str(tmp_path / "platform.toml"), "--mpi", "no-such-library")
    assert "exists already" in str(refused.exception)


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"library": "x", "hosts": ["a"], "cores": 1}'])
def test_a_file_without_measurements_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"x\.json: (this holds no measurements|nothing was measured)"):
        measured_times.read(path)


def test_measurements_are_stored_exactly(measurements_file: Path, tmp_path: Path) -> None:
    taken = measured_times.read(measurements_file)
    measured_times.write(taken, tmp_path / "copy.json")
    assert measured_times.read(tmp_path / "copy.json") == taken
    assert msgspec.json.decode(measurements_file.read_bytes())["hosts"] == ["n0", "n1"]


def test_processes_are_paired_inside_a_node_and_between_two() -> None:
    processes = Machine(host_of_rank=["a", "b", "a", "b", "a"], cores=3, library="x")
    assert processes.pairs_inside() == [(0, 2)]
    assert processes.pairs_between() == [(0, 1), (2, 3)]
    assert Machine(host_of_rank=["a", "b", "b"], cores=3, library="x").pairs_inside() == [(1, 2)]
    assert Machine(host_of_rank=["a", "b"], cores=3, library="x").pairs_inside() == []
    assert Machine(host_of_rank=["a", "a"], cores=3, library="x").pairs_between() == []


def test_processes_fill_a_node_unless_a_number_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_JOB_ID", "PBS_JOBID"):
        monkeypatch.delenv(name, raising=False)
    nodes, ppn = driver_probe.placement(0, 0, None)
    assert nodes == 1 and 2 <= ppn <= 16
    assert driver_probe.placement(3, 5, None) == (3, 5)
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "4")
    monkeypatch.setenv("SLURM_JOB_CPUS_PER_NODE", "48(x4)")
    assert driver_probe.placement(0, 0, None) == (2, 16)


def test_the_largest_size_may_have_a_unit() -> None:
    assert parse_largest("64 KiB") == 65536
