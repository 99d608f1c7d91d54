"""Studies of simulated machines: the section [simulator], and the options that replace its keys."""

from __future__ import annotations

import pytest

from offbeat.base.errors import BadInput
from offbeat.model.platform import bundled_platforms
from offbeat.model.study.schema import FAMILIES
from offbeat.model.study.study_file import loads, simulator_options

TEXT = """engine = "sim"
[[collective]]
names = ["reduce"]
sizes = ["1 GiB"]
[processes]
p = [1024]
"""


def study(text=TEXT, folder="", **instead):
    return loads(text, f"{folder or '.'}/study.toml", overrides=simulator_options(**instead))


def test_a_simulated_study_needs_none_of_this_machines_memory():
    assert study().study.engine == "sim"
    with pytest.raises(BadInput, match="on one machine"):
        study(TEXT.replace('"sim"', '"mpi"'))


def test_the_default_is_the_papers_machine_and_open_mpi():
    loaded = study()
    assert loaded.study.simulator.platform == bundled_platforms.DEFAULT_PRESET
    assert loaded.study.simulator.family == FAMILIES[0] == "openmpi"
    assert loaded.platform().total_cores == 1024


def test_the_command_line_replaces_keys_of_the_file():
    mpi = TEXT.replace('engine = "sim"\n', "")
    loaded = study(mpi, engine="sim", platform="groups", family="mpich", executor="dask")
    section = loaded.study.simulator
    assert (section.platform, section.family, section.executor) == ("groups", "mpich", "dask")
    assert loaded.study.engine == "sim"


@pytest.mark.parametrize(
    ("instead", "sentence"),
    [
        ({"engine": "simm"}, "engine: 'simm' is not known here; did you mean 'sim'"),
        ({"platform": "papr"}, "simulator.platform: 'papr' is not a platform; did you mean 'paper'"),
        ({"family": "ompi"}, "simulator.family: 'ompi' is not known here"),
        ({"executor": "mpi"}, "simulator.executor: 'mpi' is not known here"),
        ({"platform": "there/is/none.toml"}, "simulator.platform: .*none.toml: there is no such file"),
    ],
)
def test_an_invalid_option_is_refused(instead, sentence):
    with pytest.raises(BadInput, match=sentence):
        study(**instead)


def test_a_platform_file_is_relative_to_the_study_and_on_the_command_line_to_the_folder(
    tmp_path, monkeypatch
):
    platform_text = (
        bundled_platforms.PRESETS.path_of("paper").read_text().replace('name = "paper"', 'name = "mine"')
    )
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "near.toml").write_text(platform_text)
    (tmp_path / "here.toml").write_text(platform_text.replace('"mine"', '"here"'))
    text = TEXT + '[simulator]\nplatform = "near.toml"\n'
    monkeypatch.chdir(tmp_path)
    assert study(text, "studies").platform().name == "mine"
    assert study(text, "studies", platform="here.toml").platform().name == "here"


def test_a_faulty_platform_is_reported_with_the_studys_line_and_its_own(tmp_path):
    faulty = (
        bundled_platforms.PRESETS.path_of("paper")
        .read_text()
        .replace('bandwidth = "10 Gbit/s"', "bandwidth = 0")
    )
    (tmp_path / "faulty.toml").write_text(faulty)
    text = TEXT + '[simulator]\nplatform = "faulty.toml"\n'
    with pytest.raises(
        BadInput, match=r"study.toml:8: simulator.platform: .*faulty.toml:\d+: .*moves nothing"
    ):
        study(text, str(tmp_path))


@pytest.mark.parametrize(
    ("processes", "sentence"),
    [
        ("p = [1025]", "processes.p: .*1025 ranks, but 32 nodes × 32 cores are 1024"),
        ("nodes = [33]\nppn = [2]", "processes.nodes: .*33 nodes are requested, but the platform has 32"),
        ("nodes = [2]\nppn = [33]", "processes.nodes: .*66 ranks, 33 of them on one node"),
    ],
)
def test_more_ranks_than_cores_are_refused_with_the_line(processes, sentence):
    with pytest.raises(BadInput, match=r"study.toml:\d+: " + sentence):
        study(TEXT.replace("p = [1024]", processes))


def test_the_section_is_kept_and_does_not_matter_to_a_study_that_measures(tmp_path):
    text = TEXT.replace('engine = "sim"\n', "").replace("1 GiB", "8 B").replace("1024", "4")
    loaded = study(text + '[simulator]\nplatform = "no-such-machine"\n')
    assert loaded.study.simulator.platform == "no-such-machine"
    assert loaded.file_digests() == {}


def test_only_a_platform_file_is_watched_for_changes(tmp_path):
    (tmp_path / "mine.toml").write_text(bundled_platforms.PRESETS.path_of("paper").read_text())
    assert study(folder=str(tmp_path)).file_digests() == {}
    text = TEXT + '[simulator]\nplatform = "mine.toml"\n'
    assert list(study(text, str(tmp_path)).file_digests()) == [str(tmp_path / "mine.toml")]
