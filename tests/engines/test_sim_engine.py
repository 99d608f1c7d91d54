"""The engine sim: a study on a simulated machine, from the file to the choice."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest
from debug_run import Silent

from offbeat import simulate
from offbeat.base.errors import BadInput
from offbeat.measurement.engines.engine import BatchEngine
from offbeat.measurement.engines.engine_choice import (
    check_simulator_options,
    installation_of,
    open_engine_of,
    sim_engine_of,
)
from offbeat.measurement.engines.simulation_engine import LANES
from offbeat.measurement.results.read import read_study
from offbeat.measurement.runs.dry_run import describe
from offbeat.measurement.runs.resume import open_store
from offbeat.measurement.runs.run import check_algorithm_names, run
from offbeat.model.study.case import Case
from offbeat.model.study.study_file import loads, simulator_options
from offbeat.selection.choices.certainty import EXACT
from offbeat.selection.choices.choose import choose
from offbeat.simulation.calls import catalogue
from offbeat.simulation.calls.catalogue import keeps_order

pytestmark = pytest.mark.slow

TEXT = """
name = "simulated"
engine = "sim"
[[collective]]
names = ["reduce", "alltoall"]
sizes = [8, 4096]
[[collective]]
names = ["barrier"]
[processes]
p = [8, 40]
[patterns]
shapes = ["no_delay", "ascending", "last_delayed"]
[skew]
factors = [0.5, 1.5]
"""


def study(tmp_path, text=TEXT, **instead):
    return loads(text, tmp_path / "study.toml", overrides=simulator_options(**instead))


def go(loaded, directory, listener=None):
    with open_store(loaded, directory) as store:
        engine = sim_engine_of(loaded)
        try:
            return run(loaded, store, engine, listener or Silent())
        finally:
            engine.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sim")
    listener = Silent()
    go(study(folder), folder / "results", listener)
    return read_study(folder / "results"), listener


def test_every_case_is_measured_in_one_repetition(whole):
    results, listener = whole
    assert set(results.cases["status"]) == {"measured"}
    assert set(results.cases["repetitions"]) == {1}
    assert set(results.cases["engine"]) == {"sim"}
    assert listener.messages > 0
    assert len(listener.ended) == len(results.cases)


def test_results_say_which_algorithms_ran_on_which_platform(whole):
    results, _ = whole
    assert set(results.cases["library"]) == {"sim-openmpi on paper"}
    library = results.provenance["library"]
    assert (library["family"], library["simulated"]) == ("openmpi", True)
    assert library["platform"]["cores"] == 32
    assert results.is_deterministic


def test_nodes_and_ppn_are_those_of_the_platforms_mapping(whole):
    results, _ = whole
    placed = set(results.cases.select("p", "nodes", "ppn").iter_rows())
    assert placed == {(8, 1, 8), (40, 2, 0)}


def test_a_library_s_refusal_is_a_verdict_and_no_lost_case(whole):
    results, _ = whole
    refused = {one.algorithm for one in results.verdicts if one.status == "refused"}
    assert refused == {"two_proc"}
    assert all(one.reason for one in results.verdicts if one.status == "refused")


def test_delays_are_those_that_simulate_gives(whole):
    results, _ = whole
    ranks = results.ranks()
    row = results.cases.filter(
        (pl.col("collective") == "reduce") & (pl.col("p") == 40) & (pl.col("pattern") == "ascending×1.5")
    ).row(3, named=True)
    own = ranks.filter(pl.col("case") == row["case"]).sort("rank")
    arrivals = own["arrival_s"].to_numpy()
    assert arrivals.max() == row["skew_s"]
    exits = simulate("paper", f"reduce/{row['algorithm']}", 40, row["bytes"], arrivals, element_bytes=8)
    assert exits.tolist() == own["exit_s"].to_list()
    assert row["last_delay_s"] == exits.max() - arrivals.max()


def test_choices_from_simulations_have_a_confidence_of_1(whole):
    results, _ = whole
    choices = choose(results)
    assert len(choices) == 2 * 2 * 2 + 2
    assert all(choice.certainty == EXACT for choice in choices)
    assert not any("how certain" in warning for choice in choices for warning in choice.warnings)


def test_the_skew_is_a_multiple_of_the_mean_without_delay(whole):
    results, _ = whole
    cell = (pl.col("collective") == "alltoall") & (pl.col("p") == 8) & (pl.col("bytes") == 4096)
    still = results.cases.filter(cell & (pl.col("pattern") == "no_delay"))["last_delay_s"]
    late = results.cases.filter(cell & (pl.col("pattern") == "last_delayed×0.5"))["skew_s"]
    assert late.to_list() == pytest.approx([0.5 * still.mean()] * len(still))


@pytest.mark.parametrize("executor", ["local"])
def test_a_study_stopped_in_the_middle_ends_as_an_uninterrupted_one(whole, tmp_path, executor):
    results, _ = whole
    asked = []

    def out_of_time(longest_s):
        asked.append(longest_s)
        return len(asked) % 7 == 0

    loaded = study(tmp_path)
    stops = 0
    while True:
        with open_store(loaded, tmp_path / "results") as store:
            engine = sim_engine_of(loaded)
            outcome = run(loaded, store, engine, Silent(), out_of_time)
            engine.close()
        if not outcome.is_stopped:
            break
        stops += 1
    assert stops > 2
    assert read_study(tmp_path / "results").cases.equals(results.cases)


def test_a_killed_simulated_study_resumes_and_ends_as_an_uninterrupted_one(tmp_path):
    text = TEXT.replace("[8, 40]", "[96]").replace("[8, 4096]", "[8, 64, 512, 4096]")
    path = tmp_path / "study.toml"
    path.write_text(text)
    alone = tmp_path / "alone"
    arguments = [sys.executable, "-m", "offbeat", "run", str(path), "--output"]
    subprocess.run([*arguments, str(alone)], check=True, capture_output=True, timeout=120)
    chance = random.Random(5)
    killed = 0
    for _ in range(6):
        process = subprocess.Popen([*arguments, str(tmp_path / "killed")], stderr=subprocess.DEVNULL)
        log = tmp_path / "killed" / "cases.jsonl"
        before = log.stat().st_size if log.exists() else 0
        patience = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < patience:
            if log.exists() and log.stat().st_size > before and chance.random() < 0.3:
                break
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
        killed += process.returncode == -signal.SIGKILL
    subprocess.run([*arguments, str(tmp_path / "killed")], check=True, capture_output=True, timeout=120)
    assert killed
    assert read_study(tmp_path / "killed").cases.equals(read_study(alone).cases)
    assert read_study(tmp_path / "killed").notes == []


def test_an_unknown_name_is_refused_with_its_line_before_anything_is_simulated(tmp_path):
    text = TEXT.replace("sizes = [8, 4096]", 'sizes = [8, 4096]\nalgorithms = ["binomal"]')
    with pytest.raises(BadInput, match=r"study.toml:7: collective\[0\].algorithms: .*'binomal' for reduce"):
        check_algorithm_names(study(tmp_path, text), sim_engine_of(study(tmp_path, text)))


def test_a_collective_that_the_family_lacks_is_refused_with_its_line(tmp_path):
    text = TEXT.replace('"alltoall"', '"alltoallv"')
    with pytest.raises(BadInput, match=r"study.toml:5: collective\[0\].names: .*alltoallv"):
        check_algorithm_names(study(tmp_path, text), sim_engine_of(study(tmp_path, text)))


def test_results_of_another_platform_or_family_are_not_mixed_and_another_executor_is_accepted(tmp_path):
    go(study(tmp_path), tmp_path / "results")
    for instead in ({"platform": "hydra"}, {"family": "mpich"}):
        with pytest.raises(BadInput, match=r"with other settings \(simulator"):
            open_store(study(tmp_path, **instead), tmp_path / "results")
    open_store(study(tmp_path, executor="dask"), tmp_path / "results").close()


def test_a_platform_file_that_changed_is_noticed(tmp_path):
    preset = study(tmp_path).platform().text
    (tmp_path / "mine.toml").write_text(preset)
    text = TEXT + '[simulator]\nplatform = "mine.toml"\n'
    go(study(tmp_path, text), tmp_path / "results")
    (tmp_path / "mine.toml").write_text(preset.replace('"1 us"', '"3 us"'))
    with pytest.raises(BadInput, match=r"with other settings \(.*mine.toml"):
        open_store(study(tmp_path, text), tmp_path / "results")


def test_a_dry_run_lists_cases_and_launches_nothing(tmp_path, capsys):
    from rich.console import Console

    loaded = study(tmp_path)
    describe(loaded, open_engine_of(loaded, tmp_path, None), Console(width=200))
    out = capsys.readouterr().out
    assert "Nothing is launched" in out
    assert "launch command" not in out


def test_an_mpi_library_for_a_simulation_is_refused(tmp_path):
    with pytest.raises(BadInput, match="--mpi names the library of the engine mpi, and this is sim"):
        installation_of(study(tmp_path), "openmpi")
    assert installation_of(study(tmp_path), None) is None


def test_options_of_simulations_are_refused_for_a_measuring_study(tmp_path):
    measuring = study(tmp_path, TEXT.replace('"sim"', '"mpi"').replace("[8, 40]", "[4]"))
    check_simulator_options(measuring, {"--platform": None, "--executor": None})
    check_simulator_options(study(tmp_path), {"--platform": "paper"})
    with pytest.raises(BadInput, match="--executor is for simulated studies, but the engine is mpi"):
        check_simulator_options(measuring, {"--platform": None, "--executor": "dask"})


def test_a_batch_holds_whole_passes_and_fewer_patterns_with_more_ranks(tmp_path):
    engine = sim_engine_of(study(tmp_path))
    assert isinstance(engine, BatchEngine)
    sizes = [engine.patterns_at_once(case(p)) for p in (2, 64, 1024, 65536, 2**20)]
    assert sizes == sorted(sizes, reverse=True)
    assert all(size % LANES == 0 and size >= LANES for size in sizes)
    assert sizes[1] * 64 <= 2**22
    engine.close()


def test_too_much_memory_is_refused_before_it_is_allocated(tmp_path):
    loaded = study(
        tmp_path,
        TEXT.replace("[8, 4096]", '["1 MiB"]')
        .replace('"reduce", "alltoall"', '"allreduce"')
        .replace("p = [8, 40]", "nodes = [1024]\nppn = [64]"),
        platform="groups",
    )
    engine = sim_engine_of(loaded)
    from offbeat.measurement.runs.run import placed_groups
    from offbeat.model.study.case_expansion import cases

    group = placed_groups(loaded, engine)[0]
    requests = [(one, cases(group, [one.name], loaded.study)[0]) for one in engine.algorithms("allreduce")]
    (proved,) = engine.prove(requests)
    refused = {one.algorithm: one.reason for one in proved.verdicts if one.status == "refused"}
    assert "GiB" in refused["ring"]
    assert "recursive_doubling" not in refused


def case(p):
    return Case(
        collective="alltoall",
        algorithm="linear",
        bytes=8,
        pattern="random",
        shape="random",
        skew_policy="mean",
        skew_factor=1.0,
        p=p,
        nodes=1,
        ppn=p,
    )


def test_a_single_case_is_measured(tmp_path):
    loaded = study(tmp_path)
    engine = sim_engine_of(loaded)
    from offbeat.measurement.engines.engine import Batch
    from offbeat.measurement.runs.run import placed_groups
    from offbeat.model.study.case_expansion import cases

    group = placed_groups(loaded, engine)[0]
    (algorithm,) = [one for one in engine.algorithms("reduce") if one.name == "binomial"]
    one = cases(group, ["binomial"], loaded.study)[0]
    exits = engine.submit(Batch(algorithm=algorithm, cases=[one], delays_s=np.zeros((1, 8)))).result()
    engine.close()
    assert exits.exits_s.shape == (1, 8)
    assert not exits.failure


def test_algorithms_that_do_not_keep_the_rank_order_are_marked() -> None:
    """The real Open MPI computes wrong results with these algorithms for non-commutative operations."""
    mixing = {
        name
        for name in catalogue.catalogue()["reduce", "openmpi"]
        if not keeps_order("reduce", "openmpi", name, 8)
    }
    assert mixing == {"chain", "pipeline", "binary", "binomial"}
    assert not keeps_order("reduce", "openmpi", "chain(fanout=2)", 8)
    assert keeps_order("bcast", "openmpi", "chain", 8)


def test_another_rule_of_repetitions_simulates_nothing_again(tmp_path):
    go(study(tmp_path), tmp_path / "results")
    listener = Silent()
    outcome = go(
        study(tmp_path, TEXT + "[repetitions]\nblocks = 9\nminimum = 30\n"), tmp_path / "results", listener
    )
    assert (outcome.measured_now, outcome.finished_cases) == (0, outcome.total)
    assert (listener.ended, set(read_study(tmp_path / "results").cases["status"])) == ([], {"measured"})
