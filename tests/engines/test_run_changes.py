"""A study, pattern file or library that changed after its results began is refused by name."""

from __future__ import annotations

import debug_run
import msgspec
import pytest
from debug_engine import DebugEngine, Script
from debug_run import SMALL

from offbeat.base.errors import BadInput
from offbeat.measurement.engines.engine_choice import with_mpi
from offbeat.measurement.results.read import read_study
from offbeat.measurement.results.store import Store
from offbeat.measurement.runs import resume
from offbeat.model.study.study_file import resolved_toml

WITH_FILE = SMALL.replace('"last_delayed"]', '"last_delayed"]\nfiles = ["trace.txt"]')
CHANGES = {
    "seed": ("seed = 3", "seed = 4"),
    "collective[0].sizes": ("1024]", "2048]"),
    "collective[0].names": ('["reduce"]', '["bcast"]'),
    "processes.p": ("p = [3]", "p = [4]"),
    "collective[0].algorithms": ('names = ["reduce"]', 'names = ["reduce"]\nalgorithms = ["slow"]'),
    "patterns.shapes": ('"ascending"', '"descending"'),
    "repetitions.minimum": ("minimum = 3", "minimum = 2"),
    "patterns.seed": ("[repetitions]", "seed = 2\n[repetitions]"),
    "skew.factors": ("[repetitions]", "[skew]\nfactors = [2.0]\n[repetitions]"),
    "mpi.isolate": ("[repetitions]", "[mpi]\nisolate = true\n[repetitions]"),
}


def begun(tmp_path, text=SMALL, cases=5):
    """A result directory in which a few cases are measured."""
    count = iter(range(1000))
    loaded = debug_run.study(tmp_path, text)
    debug_run.go(loaded, tmp_path / "results", out_of_time=lambda longest_s: next(count) == cases)
    return loaded


@pytest.mark.parametrize("key", CHANGES)
def test_a_changed_study_is_refused_with_the_key_and_a_remedy(tmp_path, key):
    begun(tmp_path)
    engine = DebugEngine()
    with pytest.raises(BadInput) as refused:
        debug_run.go(debug_run.study(tmp_path, SMALL.replace(*CHANGES[key])), tmp_path / "results", engine)
    assert f"({key})" in str(refused.value)
    assert str(tmp_path / "study.toml") in str(refused.value)
    assert "--output" in str(refused.value)
    assert (engine.events, engine.inspected) == ([], [])
    assert len(debug_run.cases(tmp_path / "results")) == 5


def test_the_refused_directory_is_free_for_the_study_as_it_was(tmp_path):
    begun(tmp_path)
    with pytest.raises(BadInput):
        debug_run.go(debug_run.study(tmp_path, SMALL.replace("p = [3]", "p = [4]")), tmp_path / "results")
    outcome = debug_run.go(debug_run.study(tmp_path), tmp_path / "results")
    assert outcome.finished_cases == outcome.total == 24


@pytest.mark.parametrize(
    "text",
    [SMALL.replace('"debug"', '"another name"'), "# a remark\n" + SMALL, SMALL.replace("8,", '"8 B",')],
)
def test_changes_that_do_not_affect_measurements_are_accepted(tmp_path, text):
    begun(tmp_path)
    outcome = debug_run.go(debug_run.study(tmp_path, text), tmp_path / "results")
    assert outcome.finished_cases == outcome.total


def test_a_changed_pattern_file_is_refused_by_its_name(tmp_path):
    (tmp_path / "trace.txt").write_text("0\n1e-6\n2e-6\n")
    begun(tmp_path, WITH_FILE)
    (tmp_path / "trace.txt").write_text("0\n1e-6\n3e-6\n")
    with pytest.raises(BadInput, match=r"with other settings \(trace\.txt\)"):
        debug_run.go(debug_run.study(tmp_path, WITH_FILE), tmp_path / "results")


def test_another_library_is_refused_with_both_names(tmp_path):
    loaded = begun(tmp_path)
    engine = DebugEngine(Script(identity="another"))
    with pytest.raises(BadInput, match=r"was measured with debug \(nothing\).*--mpi.*--output"):
        debug_run.go(loaded, tmp_path / "results", engine)
    assert (engine.events, engine.inspected) == ([], [])


def test_the_same_library_may_be_named_differently(tmp_path):
    loaded = begun(tmp_path)
    outcome = debug_run.go(with_mpi(loaded, "/opt/the/same", isolate=False), tmp_path / "results")
    assert outcome.finished_cases == outcome.total


def test_options_of_the_command_line_are_part_of_the_study(tmp_path):
    loaded = begun(tmp_path)
    changed = with_mpi(loaded, None, isolate=True)
    assert (changed.study.mpi.isolate, changed.study.mpi.prefix) == (True, "auto")
    with pytest.raises(BadInput, match=r"\(mpi\.isolate\)"):
        debug_run.go(changed, tmp_path / "results")
    assert with_mpi(loaded, None, isolate=False) == loaded
    assert with_mpi(loaded, "mpich", isolate=False).study.mpi.prefix == "mpich"


def test_a_study_can_be_corrected_until_something_is_measured(tmp_path):
    wrong = SMALL.replace("sizes = [8, 1024]", 'sizes = [8, 1024]\nalgorithms = ["slwo"]')
    with pytest.raises(BadInput, match="slwo"):
        debug_run.go(debug_run.study(tmp_path, wrong), tmp_path / "results")
    right = wrong.replace("slwo", "slow")
    outcome = debug_run.go(debug_run.study(tmp_path, right), tmp_path / "results")
    assert outcome.finished_cases == outcome.total == 12
    assert read_study(tmp_path / "results").study["collective"][0]["algorithms"] == ["slow"]


def test_a_corrected_study_in_a_linked_directory_keeps_the_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "results").symlink_to(tmp_path / "elsewhere")
    wrong = SMALL.replace("sizes = [8, 1024]", 'sizes = [8, 1024]\nalgorithms = ["slwo"]')
    with pytest.raises(BadInput, match="slwo"):
        debug_run.go(debug_run.study(tmp_path, wrong), tmp_path / "results")
    debug_run.go(debug_run.study(tmp_path), tmp_path / "results")
    assert (tmp_path / "results").is_symlink()
    assert len(debug_run.cases(tmp_path / "elsewhere")) == 24


def test_another_library_can_be_chosen_until_something_is_proved(tmp_path):
    class Unwilling(DebugEngine):
        def prove(self, requests, say=None):
            raise BadInput("not today")

    loaded = debug_run.study(tmp_path)
    with pytest.raises(BadInput, match="not today"):
        debug_run.go(loaded, tmp_path / "results", Unwilling(Script(identity="another")))
    debug_run.go(loaded, tmp_path / "results")
    assert read_study(tmp_path / "results").provenance["library"]["identity"] == "debug-1"


def test_verdicts_of_one_library_are_not_used_for_another(tmp_path):
    loaded = begun(tmp_path, cases=0)
    assert read_study(tmp_path / "results").verdicts
    with pytest.raises(BadInput, match="two libraries"):
        debug_run.go(loaded, tmp_path / "results", DebugEngine(Script(identity="another")))


def test_results_begin_with_the_whole_study_its_files_and_its_seed(tmp_path):
    (tmp_path / "trace.txt").write_text("0\n1e-6\n2e-6\n")
    loaded = debug_run.study(tmp_path, WITH_FILE)
    with resume.open_store(loaded, tmp_path / "results") as store:
        assert isinstance(store, Store)
        assert store.provenance["seed"] == 3
        assert list(store.provenance["files"]) == ["trace.txt"]
        assert store.study_toml == resolved_toml(loaded.study)


def test_results_are_beside_the_study_by_default(tmp_path):
    assert resume.default_directory(tmp_path / "my.study.toml") == tmp_path / "my.study-results"
    assert not resume.has_results(tmp_path)
    begun(tmp_path)
    assert resume.has_results(tmp_path / "results")


def test_a_hostfile_that_changed_is_refused_by_its_name(tmp_path):
    (tmp_path / "hosts").write_text("localhost slots=4\n")
    text = SMALL.replace("[repetitions]", '[mpi]\nhostfile = "hosts"\n[repetitions]')
    loaded = begun(tmp_path, text)
    (tmp_path / "hosts").write_text("localhost slots=8\n")
    with pytest.raises(BadInput, match=r"\(mpi.hostfile\)"):
        debug_run.go(msgspec.structs.replace(loaded), tmp_path / "results")


def test_a_hostfile_with_the_same_content_may_have_another_path(tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("localhost slots=4\n")
    begun(tmp_path, with_hostfile("hosts"))
    debug_run.go(debug_run.study(tmp_path, with_hostfile(hosts)), tmp_path / "results")
    hosts.write_text("localhost slots=8\n")
    with pytest.raises(BadInput, match=r"\(mpi.hostfile\)"):
        debug_run.go(debug_run.study(tmp_path, with_hostfile(hosts)), tmp_path / "results")
    with pytest.raises(BadInput, match=r"\(mpi.hostfile\)"):
        debug_run.go(debug_run.study(tmp_path, SMALL), tmp_path / "results")


def test_the_hostfile_is_stored_with_the_results(tmp_path):
    (tmp_path / "hosts").write_text("localhost slots=4\n")
    begun(tmp_path, with_hostfile("hosts"))
    assert (tmp_path / "results" / "hostfile").read_text() == "localhost slots=4\n"


def with_hostfile(name):
    return SMALL.replace("[repetitions]", f'[mpi]\nhostfile = "{name}"\n[repetitions]')


GROWTH = {
    "sizes": ("1024]", "1024, 4096]"),
    "collectives": ('["reduce"]', '["reduce", "bcast"]'),
    "processes": ("p = [3]", "p = [3, 4]"),
    "shapes": ('"ascending"', '"ascending", "descending"'),
    "a section": ("[processes]", '[[collective]]\nnames = ["barrier"]\nskews = ["1 ms"]\n[processes]'),
    "a pattern file": ("[processes]", 'files = ["trace.txt"]\n[processes]'),
}


@pytest.mark.parametrize("what", GROWTH)
def test_a_study_can_grow_and_measures_only_what_is_new(tmp_path, what):
    (tmp_path / "trace.txt").write_text("0\n1e-6\n2e-6\n")
    before = debug_run.go(debug_run.study(tmp_path), tmp_path / "results")
    larger = debug_run.study(tmp_path, SMALL.replace(*GROWTH[what]))
    after = debug_run.go(larger, tmp_path / "results")
    assert after.finished_cases == after.total > before.total
    assert after.measured_now == after.total - before.total
    assert len(debug_run.cases(tmp_path / "results")) == after.total
    again = debug_run.go(larger, tmp_path / "results")
    assert (again.measured_now, again.total) == (0, after.total)
    with pytest.raises(BadInput, match="with other settings"):
        debug_run.go(debug_run.study(tmp_path), tmp_path / "results")


def test_further_algorithms_are_measured_if_the_skew_does_not_depend_on_them(tmp_path):
    text = SMALL.replace('["reduce"]', '["reduce"]\nalgorithms = ["slow"]')
    larger = text.replace('["slow"]', '["slow", "fast"]')
    debug_run.go(debug_run.study(tmp_path, text), tmp_path / "by-mean")
    with pytest.raises(BadInput, match=r"\(collective\[0\]\.algorithms\)"):
        debug_run.go(debug_run.study(tmp_path, larger), tmp_path / "by-mean")
    fixed = "[skew]\npolicy = 'fixed'\ntimes = ['1 ms']\n"
    before = debug_run.go(debug_run.study(tmp_path, text + fixed), tmp_path / "fixed")
    after = debug_run.go(debug_run.study(tmp_path, larger + fixed), tmp_path / "fixed")
    assert after.measured_now == after.total - before.total > 0


def test_a_study_that_grew_keeps_its_seed(tmp_path):
    text = SMALL.replace("seed = 3\n", "")
    debug_run.go(debug_run.study(tmp_path, text), tmp_path / "results")
    seed = read_study(tmp_path / "results").study["seed"]
    debug_run.go(debug_run.study(tmp_path, text.replace(*GROWTH["sizes"])), tmp_path / "results")
    assert read_study(tmp_path / "results").study["seed"] == seed
