"""offbeat as users install it: what its packages hold; commands, manual pages and completion elsewhere."""

from __future__ import annotations

import email
import json
import re
import shutil
import subprocess
from pathlib import Path

import pexpect
import pytest
from installed_environment import REPOSITORY, Distributions, Environment
from packaging.metadata import Metadata
from real_libraries import skip_without

from offbeat.cli.app import VERBS
from offbeat.libraries.installations.build import NATIVE_TESTS
from offbeat.libraries.installations.installation import Installation

pytestmark = pytest.mark.slow

MEASURED = """
name = "measured"

[[collective]]
names = ["bcast"]
sizes = ["64 B"]
algorithms = ["binomial", "chain"]

[processes]
p = [2]

[patterns]
shapes = ["no_delay", "last_delayed"]

[skew]
policy = "fixed"
times = ["20 us"]

[repetitions]
minimum = 5
maximum = 5
"""

SIMULATED = """
name = "simulated"
engine = "sim"

[[collective]]
names = ["alltoall"]
sizes = ["4 KiB"]

[processes]
p = [16]

[patterns]
shapes = ["no_delay", "ascending"]

[skew]
policy = "fastest"
factors = [1.5]
"""


def committed(folder: str) -> dict[str, bytes]:
    """The files of a folder of the checkout by their path in it, without what git ignores."""
    root = REPOSITORY / folder
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "."]
    listed = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
    if listed.returncode:  # this checkout is an sdist
        paths = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()]
    else:
        paths = [name for name in listed.stdout.split("\0") if name and (root / name).is_file()]
    return {path: (root / path).read_bytes() for path in paths}


def below(files: dict[str, bytes], prefix: str) -> dict[str, bytes]:
    return {name.removeprefix(prefix): data for name, data in files.items() if name.startswith(prefix)}


def test_the_sdist_is_the_checkout(distributions: Distributions) -> None:
    files = distributions.sources()
    assert files.pop("PKG-INFO")
    assert set(files) == set(committed("."))


def test_the_wheel_holds_the_package_and_nothing_that_git_ignores(distributions: Distributions) -> None:
    package = below(distributions.installed(), "offbeat/")
    extension = [name for name in package if re.fullmatch(r"_simulator\..*\.so", name)]
    assert len(extension) == 1
    own = {name: data for name, data in package.items() if not name.startswith("native/")}
    del own[extension[0]]
    assert own == committed("src/offbeat")


def test_the_wheel_holds_the_native_sources_without_their_tests(distributions: Distributions) -> None:
    expected = {
        name: data
        for name, data in committed("native").items()
        if not any(Path(name).match(pattern) for pattern in NATIVE_TESTS)
    }
    assert below(distributions.installed(), "offbeat/native/") == expected
    assert "CMakeLists.txt" in expected
    assert not [name for name in expected if "test" in name]


def test_the_wheel_holds_the_licence_pages_and_completions(distributions: Distributions) -> None:
    files = distributions.installed()
    (licence,) = [data for name, data in files.items() if name.endswith("/licenses/LICENSE")]
    assert licence == (REPOSITORY / "LICENSE").read_bytes()
    (share,) = {name.partition("/share/")[0] for name in files if ".data/data/" in name}
    assert below(files, f"{share}/share/") == committed("packaging/share")


def test_the_metadata_are_valid_and_show_the_readme(distributions: Distributions) -> None:
    (text,) = [data for name, data in distributions.installed().items() if name.endswith("/METADATA")]
    described = Metadata.from_email(text, validate=True)
    assert described.description_content_type == "text/markdown"
    assert described.description == (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert described.license_expression == "BSD-3-Clause"
    assert distributions.sources()["PKG-INFO"] == text
    assert email.message_from_bytes(text)["Requires-Python"] == ">=3.11"


def test_a_study_is_measured_and_reported_outside_a_checkout(
    environment: Environment, some_mpi_installation: Installation
) -> None:
    folder = environment.folder
    assert environment.run("offbeat", "--version").startswith("offbeat ")
    environment.run("offbeat", "init", "template.toml")
    assert (folder / "template.toml").is_file()
    (folder / "measured.toml").write_text(MEASURED, encoding="utf-8")
    environment.run("offbeat", "run", "measured.toml", "--mpi", some_mpi_installation.mpirun)
    environment.run("offbeat", "report", "measured-results", "--output", "report.html")
    assert "bcast" in (folder / "report.html").read_text(encoding="utf-8")
    location = environment.run("python", "-c", "import offbeat; print(offbeat.__file__)")
    assert Path(location.strip()).is_relative_to(environment.prefix)


def test_studies_and_programs_are_simulated_outside_a_checkout(environment: Environment) -> None:
    (environment.folder / "simulated.toml").write_text(SIMULATED, encoding="utf-8")
    environment.run("offbeat", "run", "simulated.toml")
    assert "alltoall" in environment.run("offbeat", "select", "simulated-results")
    text = environment.run("offbeat", "program", "simulate", "mst", "--platform", "fritz", "--json", "-")
    assert json.loads(text)


def test_a_program_is_traced_outside_a_checkout(
    environment: Environment, some_mpi_installation: Installation
) -> None:
    doctor = environment.run("offbeat", "doctor", "--mpi", some_mpi_installation.mpirun)
    driver = re.search(r"driver (/.*)$", doctor, flags=re.MULTILINE)
    assert driver, doctor
    program = Path(driver[1]).with_name("offbeat-ft")
    launch = [some_mpi_installation.mpirun, "-n", "2", program, "--class", "S", "--repeat", "2"]
    if some_mpi_installation.family == "openmpi":
        launch[1:1] = ["--allow-run-as-root"]
    environment.run("offbeat", "trace", "run", "--", *launch)
    assert "alltoall" in environment.run("offbeat", "trace", "summary", "offbeat-trace")


def tool(name: str, package: str) -> str:
    return shutil.which(name) or skip_without(f"{name} (Debian's package {package})")


def test_man_finds_a_page_of_each_command(environment: Environment) -> None:
    tool("man", "man-db")
    pages = environment.prefix / "share/man/man1"
    assert {path.name for path in pages.glob("offbeat*")} == {
        "offbeat.1",
        *(f"offbeat-{verb}.1" for verb in VERBS),
    }
    for words in (["offbeat"], ["offbeat", "run"], ["offbeat-trace"]):
        found = environment.run("man", "--where", *words)
        assert Path(found.strip()) == pages / f"{'-'.join(words)}.1"


@pytest.mark.parametrize(
    "path", sorted((REPOSITORY / "packaging/share/man/man1").iterdir()), ids=lambda path: path.stem
)
def test_a_page_has_no_faults_and_fits_80_columns(path: Path) -> None:
    lint = [tool("mandoc", "mandoc"), "-T", "lint", "-W", "style", path]
    assert subprocess.run(lint, capture_output=True, text=True, check=False).stdout == ""
    roff = [
        tool("groff", "groff-base"),
        "-K",
        "utf8",
        "-man",
        "-ww",
        "-rLL=80n",
        "-P-c",
        "-P-bou",
        "-Tutf8",
        path,
    ]
    done = subprocess.run(roff, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line for line in done.stdout.splitlines() if len(line) > 80] == []


SHELLS = {
    # An interactive shell → its options, and what a user's own settings do.
    "bash": (["--norc"], "source /usr/share/bash-completion/bash_completion; bind 'set bell-style none'"),
    "zsh": (["-f"], "fpath=({share}/zsh/site-functions $fpath); autoload -U compinit; compinit -u -D"),
    "fish": ([], ""),
}

LINES = {
    "offbeat sel": "offbeat select ",
    "offbeat trace su": "offbeat trace summary ",
    "offbeat select --boot": "offbeat select --bootstrap ",
    "offbeat select --rule wo": "offbeat select --rule worst ",
    "offbeat algorithm show alltoall/linear_s": "offbeat algorithm show alltoall/linear_sync ",
    "offbeat algorithm show reduce_s": "offbeat algorithm show reduce_scatter",
    "offbeat status study-r": "offbeat status study-results ",
    "offbeat status fol": "offbeat status folder/",
    "offbeat run oth": "offbeat run other.toml ",
}
"""What is typed before Tab → what then stands there."""


@pytest.mark.parametrize("shell", SHELLS)
def test_tab_completes_in_a_real_shell(shell: str, environment: Environment, tmp_path: Path) -> None:
    program = tool(shell, shell)
    if shell == "bash" and not Path("/usr/share/bash-completion/bash_completion").is_file():
        skip_without("bash-completion (Debian's package bash-completion)")
    for folder in ("study-results", "folder/inner"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "study-results/provenance.json").write_text("{}", encoding="utf-8")
    (tmp_path / "other.toml").touch()
    options, settings = SHELLS[shell]
    share = environment.prefix / "share"
    variables = environment.variables() | {
        "XDG_DATA_DIRS": f"{share}:/usr/local/share:/usr/share",
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }
    child = pexpect.spawn(
        program,
        [*options, "-i"],
        cwd=tmp_path,
        env=variables,
        dimensions=(50, 200),
        timeout=120,
        encoding="utf-8",
    )
    child.sendline(settings.format(share=share))
    for line in LINES:
        # Ctrl-A goes to the start of the line: it is not run but written to a file, with its blanks.
        child.send(f"{line}\t'\x01printf '%s\\n' '\x05 >> lines\r")
    child.sendline("exit")
    child.expect(pexpect.EOF)
    lines = (tmp_path / "lines").read_text(encoding="utf-8").splitlines()
    assert dict(zip(LINES, lines, strict=True)) == LINES
