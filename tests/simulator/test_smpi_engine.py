"""The engine smpi: a study in SimGrid, compared with the same study in the simulator."""

from __future__ import annotations

import local_smpi
import pytest

from offbeat.base.errors import BadInput, RunFailed
from offbeat.measurement.engines.engine_choice import open_engine_of
from offbeat.measurement.results.read import read_study
from offbeat.measurement.runs.resume import open_store
from offbeat.measurement.runs.run import run
from offbeat.measurement.runs.run_progress import RunProgress
from offbeat.model.study.study_file import loads, simulator_options

pytestmark = pytest.mark.slow

TEXT = """
name = "simgrid"
[[collective]]
names = ["reduce", "allreduce"]
sizes = [64, "16 KiB"]
datatype = "int"
[[collective]]
names = ["alltoall"]
sizes = [512]
algorithms = ["bruck", "ring", "pair"]
[[collective]]
names = ["scan", "barrier"]
sizes = [64]
[processes]
nodes = [3]
ppn = [4]
[patterns]
shapes = ["no_delay", "ascending", "random"]
[simulator]
family = "simgrid"
"""

ONE = """
[[collective]]
names = ["reduce"]
sizes = [64]
algorithms = ["binomial"]
[processes]
p = [4]
[patterns]
shapes = ["no_delay"]
"""


def study(folder, text=TEXT, engine="smpi", **instead):
    return loads(text, folder / "study.toml", overrides=simulator_options(engine=engine, **instead))


def go(loaded, directory):
    with open_store(loaded, directory) as store:
        engine = open_engine_of(loaded, directory, None)
        try:
            with RunProgress() as progress:
                return run(loaded, store, engine, progress)
        finally:
            engine.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    local_smpi.program()
    folder = tmp_path_factory.mktemp("smpi")
    loaded = study(folder)
    go(loaded, folder / "results")
    return loaded, folder / "results"


def last_delays(directory):
    cases = read_study(directory).cases.filter(status="measured")
    keys = cases.select("collective", "algorithm", "bytes", "pattern").rows()
    return dict(zip(keys, cases["last_delay_s"], strict=True))


def test_a_study_runs_through_simgrid_from_the_file_to_the_cases(whole):
    _, directory = whole
    results = read_study(directory)
    assert results.notes == []
    assert set(results.cases["status"]) == {"measured"}
    assert set(results.cases["library"]) == {"smpi on paper"}
    assert results.provenance["library"]["library"].startswith("SimGrid 3.")
    assert "default" in set(results.cases["algorithm"])
    assert results.cases["last_delay_s"].min() > 0
    ranks = results.ranks()
    assert (ranks["exit_s"] >= ranks["arrival_s"]).all()


def test_wrong_or_crashing_algorithms_are_not_simulated(whole):
    _, directory = whole
    verdicts = {(one.collective, one.algorithm): one for one in read_study(directory).verdicts}
    assert verdicts["reduce", "binomial"].status == "proved"
    assert verdicts["reduce", "binomial"].evidence == "functions:simgrid::smpi::reduce__binomial"
    assert verdicts["reduce", "arrival_pattern_aware"].status == "quarantined"
    assert "signal" in verdicts["reduce", "arrival_pattern_aware"].reason
    assert verdicts["allreduce", "smp_rsag"].status == "wrong"
    assert verdicts["alltoall", "pair"].status in ("refused", "quarantined")  # p is no power of two
    assert verdicts["scan", "default"].status == "proved"


def test_results_equal_the_simulators(whole, tmp_path):
    _, directory = whole
    go(study(tmp_path, engine="sim"), tmp_path / "results")
    smpi_delays, sim_delays = last_delays(directory), last_delays(tmp_path / "results")
    both = smpi_delays.keys() & sim_delays.keys()
    assert len({(collective, algorithm) for collective, algorithm, _, _ in both}) > 25
    far = {
        key: sim_delays[key] / smpi_delays[key] - 1
        for key in both
        if abs(sim_delays[key] / smpi_delays[key] - 1) > 1e-3
    }
    assert far == {}


def test_a_finished_study_is_not_simulated_again(whole):
    loaded, directory = whole
    again = go(loaded, directory)
    assert (again.measured_now, again.finished_cases) == (0, len(read_study(directory).cases))


def test_platform_files_and_programs_are_removed(whole):
    _, directory = whole
    assert not (directory / "scratch").exists()


def test_case_over_the_time_limit_is_abandoned_and_the_key_is_named(tmp_path):
    local_smpi.program()
    text = TEXT.replace('"pair"', '"mvapich2_scatter_dest"').replace("ppn = [4]", "ppn = [32]")
    text = text.replace('names = ["reduce", "allreduce"]', 'names = ["bcast"]')
    go(study(tmp_path, text + "[repetitions]\nhang_after = 0.05\n"), tmp_path / "results")
    results = read_study(tmp_path / "results")
    reasons = [one.reason for one in results.verdicts if one.status == "quarantined"]
    assert any("repetitions.hang_after sets the limit" in reason for reason in reasons)


def test_crash_affects_only_its_case(tmp_path, monkeypatch):
    from offbeat.measurement.engines.smpi_program import SimGridProcess

    def crash(self, call, delays_s, *, copies=False):
        if delays_s.max() > 0 and call.algorithm == "NTSL":
            self._driver._process.kill()
        return run_call(self, call, delays_s, copies=copies)

    local_smpi.program()
    run_call = SimGridProcess.run
    monkeypatch.setattr(SimGridProcess, "run", crash)
    text = ONE.replace('["binomial"]', '["binomial", "NTSL"]').replace(
        '["no_delay"]', '["no_delay", "random"]'
    )
    go(study(tmp_path, text), tmp_path / "results")
    cases = read_study(tmp_path / "results").cases
    lost = cases.filter(status="quarantined")
    assert lost.select("algorithm", "pattern").rows() == [("NTSL", "random")]
    assert "SimGrid was killed by signal 9" in lost["reason"][0]
    assert len(cases.filter(status="measured")) == 5


def test_executors_of_clusters_are_refused(tmp_path):
    with pytest.raises(BadInput, match="the engine smpi runs only on this machine's cores"):
        open_engine_of(study(tmp_path, ONE + "[simulator]\nexecutor = 'dask'\n"), tmp_path, None)


def test_a_platform_that_simgrid_cannot_express_is_refused_with_its_line(tmp_path):
    (tmp_path / "odd.toml").write_text(
        "nodes = 2\ncores = 4\n[link]\nbandwidth = '1 GB/s'\nlatency = '1 us'\n"
        "[inside]\nbandwidth = '1 GB/s'\n[messages]\nheader = 40\n"
    )
    with pytest.raises(BadInput, match=r"odd\.toml:9: messages\.header: SMPI's messages"):
        open_engine_of(study(tmp_path, ONE, platform="odd.toml"), tmp_path, None)


def test_study_without_simgrid_does_not_start(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "offbeat.measurement.engines.smpi_engine.build_program",
        lambda: (_ for _ in ()).throw(RunFailed("none")),
    )
    with pytest.raises(RunFailed, match="none"):
        open_engine_of(study(tmp_path, ONE), tmp_path, None)


def test_simgrid_takes_each_call_of_a_replay_once(tmp_path):
    local_smpi.program()
    calls = ["0 1e-4 0 2e-4", "3e-4 0 0 0", "0 0 0 0"]
    (tmp_path / "all.replay").write_text("\n".join(calls))
    for number, call in enumerate(calls):
        (tmp_path / f"call{number}.txt").write_text(call.replace(" ", "\n"))
    files = 'files = ["call0.txt", "call1.txt", "call2.txt"]\nreplays = ["all.replay"]\n'
    go(study(tmp_path, ONE + files), tmp_path / "results")
    cases = read_study(tmp_path / "results").cases.filter(algorithm="binomial")
    delays_s = dict(cases.select("pattern", "last_delay_s").iter_rows())
    assert delays_s["all"] == pytest.approx(sum(delays_s[f"call{number}"] for number in range(3)) / 3)
    assert cases.filter(pattern="all").row(0, named=True)["repetitions"] == 3
