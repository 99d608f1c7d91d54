"""Launches leave out the settings of users and sites that choose algorithms, and name them."""

from __future__ import annotations

from pathlib import Path

import captured
import pytest
from hypothesis import given
from hypothesis import strategies as st
from installation_factory import described

from offbeat.base.errors import BadInput
from offbeat.libraries.families.inherited_settings import inherited_settings, overridden
from offbeat.libraries.families.libraries import LIBRARIES
from offbeat.libraries.launch.launch_command import command
from offbeat.libraries.launch.plain_command import plain_command
from offbeat.model.study.collectives import COLLECTIVES

INSTALLATIONS = {
    "openmpi": described("openmpi", 5, 0, 11),
    "mpich": described("mpich", 5, 0, 2),
    "intelmpi": described("intelmpi", 2021, 18, 1),
}

_OF_COLLECTIVE = {
    "openmpi": ("OMPI_MCA_coll_tuned_{}_algorithm", "OMPI_MCA_coll_tuned_{}_algorithm_segmentsize"),
    "mpich": (
        "MPIR_CVAR_{}_INTRA_ALGORITHM",
        "MPIR_PARAM_{}_INTRA_ALGORITHM",
        "MPICH_{}_INTRA_ALGORITHM",
        "MPIR_CVAR_I{}_INTRA_ALGORITHM",
        "MPIR_CVAR_{}_TREE_KVAL",
        "MPIR_CVAR_{}_DEVICE_COLLECTIVE",
    ),
    "intelmpi": ("I_MPI_ADJUST_{}",),
}
CHOICES = {
    "openmpi": [
        "OMPI_MCA_coll_tuned_use_dynamic_rules",
        "OMPI_MCA_coll_tuned_dynamic_rules_filename",
        "OMPI_MCA_coll_han_use_dynamic_file_rules",
        "OMPI_MCA_coll_han_dynamic_rules_filename",
        "OMPI_MCA_coll_han_use_bcast_algorithm",
        *(form.format(name) for form in _OF_COLLECTIVE["openmpi"] for name in COLLECTIVES),
    ],
    "mpich": [
        "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE",
        "MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE",
        "MPIR_CVAR_DEVICE_COLLECTIVES",
        "MPIR_CVAR_COLLECTIVE_FALLBACK",
        "MPIR_CVAR_ENABLE_SMP_COLLECTIVES",
        *(form.format(name.upper()) for form in _OF_COLLECTIVE["mpich"] for name in COLLECTIVES),
    ],
    "intelmpi": [
        "I_MPI_TUNING_BIN",
        "I_MPI_TUNING",
        *(form.format(name.upper()) for form in _OF_COLLECTIVE["intelmpi"] for name in COLLECTIVES),
    ],
}
OTHERS = [
    "OMPI_MCA_btl",
    "OMPI_MCA_coll_tuned_priority",
    "OMPI_MCA_coll_han_priority",
    "MPIR_CVAR_CH4_NUM_VCIS",
    "MPIR_CVAR_NOLOCAL",
    "I_MPI_FABRICS",
    "I_MPI_COLL_INTRANODE",
    "PATH",
]
"""Settings of the transport, and of which components there are: the program runs with them as well."""


def drawn(family: str):
    """Environments with settings that choose algorithms, and with others."""
    return st.dictionaries(st.sampled_from(CHOICES[family] + OTHERS), st.just("1"), max_size=8)


@pytest.mark.parametrize("family", LIBRARIES)
@given(data=st.data())
def test_a_launch_is_the_same_with_and_without_settings_that_choose_algorithms(family, data):
    environ = {"HOME": "/nowhere", **data.draw(drawn(family))}
    kept = {name: value for name, value in environ.items() if name not in CHOICES[family]}
    installation = INSTALLATIONS[family]
    with_them = command(installation, Path("driver"), 2, environ=environ)
    without = command(installation, Path("driver"), 2, environ=kept)
    assert (with_them.argv, with_them.environment) == (without.argv, without.environment)
    named = " ".join(set(with_them.warnings) - set(without.warnings))
    assert all(f"{name}=1 (environment)" in named for name in environ if name in CHOICES[family])
    assert not any(f"{name}=1" in named for name in OTHERS)


@pytest.mark.parametrize("family", LIBRARIES)
@given(data=st.data())
def test_a_users_command_runs_without_settings_that_choose_algorithms(family, data):
    options = []
    for name in data.draw(st.lists(st.sampled_from(CHOICES[family] + OTHERS), unique=True)):
        forms = [("-x", f"{name}=1"), ("-genv", name, "1")]
        if name.startswith("OMPI_MCA_"):
            parameter = name.removeprefix("OMPI_MCA_")
            forms = [(option, parameter, "1") for option in ("--mca", "-mca", "--gmca", "--omca")]
        options.append((name, data.draw(st.sampled_from(forms))))
    argv = ["mpirun", "-n", "2", *(word for _, words in options for word in words), "sh"]
    kept = [word for name, words in options if name not in CHOICES[family] for word in words]
    plain = plain_command(argv, INSTALLATIONS[family], {"HOME": "/nowhere", "PATH": "/bin"})
    assert plain.argv == ["mpirun", "-n", "2", *kept, "sh"]
    assert [one.name for one in plain.settings] == [name for name, _ in options if name in CHOICES[family]]


def _written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", [".openmpi/mca-params.conf", ".pmix/mca-params.conf", "named.conf"])
def test_settings_of_parameter_files_are_taken_back_and_named_with_their_line(name, tmp_path):
    path = _written(
        tmp_path / name,
        "# of a user\nbtl = tcp,self\ncoll_tuned_bcast_algorithm=6  # binomial\n"
        "coll_tuned_dynamic_rules_filename = /some/file\n",
    )
    environ = {"HOME": str(tmp_path)}
    if name == "named.conf":
        environ["OMPI_MCA_mca_base_param_files"] = f"/missing,{path}"
    launch = command(INSTALLATIONS["openmpi"], Path("driver"), 2, environ=environ)
    line = " ".join(launch.argv)
    assert "--mca coll_tuned_bcast_algorithm 0 --mca coll_tuned_dynamic_rules_filename  " in line
    assert "btl" not in line
    assert f"OMPI_MCA_coll_tuned_bcast_algorithm=6 ({path}, line 3)" in launch.warnings[-1]
    assert f"OMPI_MCA_coll_tuned_dynamic_rules_filename=/some/file ({path}, line 4)" in launch.warnings[-1]


def test_a_setting_of_a_file_that_cannot_be_taken_back_is_refused_with_its_line(tmp_path):
    path = _written(tmp_path / ".openmpi/mca-params.conf", "\ncoll_tuned_alltoall_small_msg = 100\n")
    with pytest.raises(BadInput, match=f"{path}, line 2: coll_tuned_alltoall_small_msg = 100 changes"):
        command(INSTALLATIONS["openmpi"], Path("driver"), 2, environ={"HOME": str(tmp_path)})


@pytest.mark.parametrize("name", ["openmpi4", "openmpi5"])
def test_taking_back_a_setting_restores_the_value_that_the_library_has_without_it(name):
    neutral_value = LIBRARIES["openmpi"].neutral_value
    for variable in captured.variables(name):
        value = neutral_value(f"OMPI_MCA_{variable.name}")
        assert value in (None, variable.value), variable.name


def test_variables_that_enable_tuning_files_take_back_the_settings_of_the_environment():
    environ = {"HOME": "/nowhere", "OMPI_MCA_coll_tuned_bcast_algorithm": "6", "OMPI_MCA_btl": "tcp"}
    settings = inherited_settings(INSTALLATIONS["openmpi"], environ)
    assert overridden(INSTALLATIONS["openmpi"], settings) == {"OMPI_MCA_coll_tuned_bcast_algorithm": "0"}
