"""A faulty study is refused with file, line, key, the fault and a remedy."""

from __future__ import annotations

import pytest
from faulty_studies import CASES, CELLS, NODES, PLACES
from hypothesis import given
from hypothesis import strategies as st

from offbeat.base.errors import BadInput
from offbeat.model.study import placement
from offbeat.model.study.study_file import load, loads


@pytest.fixture(autouse=True)
def machine(monkeypatch, tmp_path):
    """A machine of 64 GiB outside any allocation, and a folder with pattern files."""
    for name in ("SLURM_JOB_ID", "PBS_JOBID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(placement.psutil, "virtual_memory", lambda: type("M", (), {"total": 2**36}))
    (tmp_path / "other").mkdir()
    rising = "".join(f"{rank}e-6\n" for rank in range(8))
    contents = {
        "four.txt": "0\n1e-6\n2e-6\n3e-6\n",
        "text.txt": "0\nlate\n",
        "negative.txt": "0\n-1\n",
        "nan.txt": "nan\n",
        "empty.txt": "# nothing\n",
        "bell.txt": rising,
        "ok.txt": rising,
        "other/ok.txt": rising,
        "level.txt": "0\n" * 8,
        "four.replay": "0 1 2 3\n",
        "made.txt": f"# p: 8\n# unit: us\n{rising}",
        "eight.replay": "0 1 2 3 4 5 6 7\n" * 2,
        "bell.replay": "0 1 2 3 4 5 6 7\n" * 2,
        "other/ok.replay": "0 1 2 3 4 5 6 7\n" * 2,
    }
    for name, text in contents.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setitem(CONTEXT, "folder", tmp_path)


CONTEXT: dict[str, object] = {}


def faults(text: str) -> list[str]:
    """The lines of the refusal of a study text."""
    with pytest.raises(BadInput) as error:
        loads(text, CONTEXT["folder"] / "study.toml")
    assert error.value.exit_status == 2
    return str(error.value).splitlines()


def marked_line(text: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if line.endswith("#!"))


@pytest.mark.parametrize(
    ("text", "key", "message"), CASES, ids=[f"{key}: {message}"[:60] for _, key, message in CASES]
)
def test_a_mistake_is_reported_with_its_line_key_and_remedy(text, key, message):
    where = f"{CONTEXT['folder']}/study.toml:{marked_line(text)}: {key}: "
    matching = [line for line in faults(text) if line.startswith(where) and message in line]
    assert len(matching) == 1, faults(text)


@pytest.mark.parametrize(
    ("text", "key", "message"), CASES, ids=[f"{key}: {message}"[:60] for _, key, message in CASES]
)
def test_one_mistake_is_reported_once(text, key, message):
    assert len(faults(text)) == 1, faults(text)


def test_the_base_of_the_tables_is_a_valid_study():
    loads(CELLS + PLACES, CONTEXT["folder"] / "study.toml")
    loads(CELLS + NODES + '[patterns]\nshapes = ["node_delayed"]', CONTEXT["folder"] / "study.toml")


def test_all_mistakes_of_a_file_are_reported_at_once_in_its_order():
    text = 'nam = "x"\n[[collective]]\nnames = ["reducee"]\nsizes = [0, -1]\n'
    text += "[processes]\np = [1]\n[skew]\ntimes = [1]"
    assert [line.split("study.toml:")[1].split(": ")[:2] for line in faults(text)] == [
        ["1", "nam"],
        ["3", "collective[0].names"],
        ["4", "collective[0].sizes"],
        ["4", "collective[0].sizes"],
        ["6", "processes.p"],
        ["8", "skew.times"],
    ]


def test_missing_sections_are_named_with_their_purpose():
    text = "\n".join(faults("seed = 3"))
    assert "it has no [[collective]] and no [[partitioned]]; add a section that says what is measured" in text
    assert "processes: this key is missing; add a section [processes]: How many processes" in text


def test_a_missing_key_is_reported_at_its_section():
    (text,) = faults(f"\n\n[[collective]]\nsizes = [8]\n{PLACES}")
    assert "study.toml:3: collective[0].names: this key is missing: collectives, by their MPI names" in text


def test_single_brackets_around_collective_are_reported():
    (text,) = faults(f"{CELLS.replace('[[', '[').replace(']]', ']')}{PLACES}")
    assert (
        "study.toml:1: collective: this is one table, but there may be several; write [[collective]]" in text
    )


def test_a_configuration_requested_by_two_sections_is_reported_at_the_second():
    second = '[[collective]]\nnames = ["scan",\n "alltoall"]\nsizes = ["1 KiB"]\n'
    (text,) = faults(CELLS + second + PLACES)
    assert "study.toml:6: collective[1].names: alltoall of 1 KiB is in collective[0] too" in text


def test_the_same_size_with_another_operation_is_another_configuration():
    second = '[[collective]]\nnames = ["reduce"]\nsizes = ["1 KiB"]\nop = "max"\n'
    loads(CELLS + second + PLACES, "study.toml")


def test_an_operation_that_no_collective_of_the_section_uses_is_not_checked():
    loads(f'[[collective]]\nnames = ["alltoall"]\nsizes = [8]\nop = "band"\n{PLACES}', "study.toml")


def test_node_delayed_on_one_node_is_reported():
    text = f'{CELLS}[processes]\nnodes = [1, 2]\nppn = [4]\n[patterns]\nshapes = ["node_delayed"]\n'
    (message,) = faults(text)
    assert "study.toml:8: patterns.shapes: 'node_delayed' needs two nodes at least" in message


# --- memory --------------------------------------------------------------------------


def memory_faults(name, size, places, more=""):
    text = f'[[collective]]\nnames = ["{name}"]\ndatatype = "byte"\nsizes = ["{size}"]\n{places}{more}'
    try:
        loads(text, CONTEXT["folder"] / "study.toml")
    except BadInput as error:
        return [line for line in str(error).splitlines() if "buffers" in line]
    return []


def test_buffers_of_alltoall_grow_with_the_square_of_p_on_one_machine():
    (text,) = memory_faults("alltoall", "1 GiB", PLACES)
    assert "study.toml:4: collective[0].sizes: alltoall of 1 GiB at p = 8 needs 128 GiB of buffers" in text
    assert "this one has 64 GiB; take a smaller size or fewer processes" in text
    assert memory_faults("alltoall", "512 MiB", PLACES) == []
    assert memory_faults("allreduce", "1 GiB", PLACES) == []


def test_only_the_root_of_gather_holds_p_messages():
    assert memory_faults("gather", "1 GiB", PLACES) == []
    assert memory_faults("allgather", "1 GiB", PLACES)


def test_processes_of_other_nodes_take_none_of_this_machines_memory():
    assert memory_faults("alltoall", "1 GiB", NODES) == []
    assert memory_faults("alltoall", "1 GiB", "[processes]\nnodes = [2]\nppn = [6]\n")


def test_where_the_launcher_may_spread_processes_only_one_is_counted(monkeypatch):
    assert memory_faults("alltoall", "1 GiB", PLACES, '[mpi]\nlauncher = "srun"\n') == []
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert memory_faults("alltoall", "1 GiB", PLACES) == []


def test_a_study_for_another_machine_is_not_measured_against_this_one():
    text = f'[[collective]]\nnames = ["alltoall"]\nsizes = ["1 GiB"]\n{PLACES}'
    with pytest.raises(BadInput):
        loads(text, "study.toml")
    loads(text, "study.toml", other_machine=True)


# --- files that are no studies -------------------------------------------------------


def refusal(path) -> str:
    with pytest.raises(BadInput) as error:
        load(path)
    return str(error.value)


def test_a_missing_file_is_reported_with_the_command_that_writes_one(tmp_path):
    assert "there is no such file; 'offbeat init" in refusal(tmp_path / "none.toml")


def test_a_directory_in_place_of_a_study_is_reported(tmp_path):
    assert "this is a directory" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "study.toml:1: the study is empty; 'offbeat init' writes one"),
        (b"# only a comment\n", "study.toml:1: the study is empty"),
        (
            b"seed = 1\nname = 'caf\xe9'\n",
            "study.toml:2: the byte 0xe9 is not UTF-8 text; save the file as UTF-8",
        ),
        (b"\xff\xfes\x00", "study.toml:1: the byte 0xff is not UTF-8 text"),
        (b"seed = 1\n\nseed = 2\n", "study.toml:3: this is not TOML: this key occurs twice"),
        (b"seed = 1\nname = oops\n", "study.toml:2: this is not TOML: Invalid value"),
        (b'seed = 1\nname = "x', "study.toml:2: this is not TOML: Unterminated string"),
        (b"seed = [1,\n2\n", "study.toml:2: this is not TOML"),
        (b"seed = " + b"[" * 5000, "study.toml: this cannot be read as TOML"),
        (b"seed = " + b"9" * 5000, "study.toml: this cannot be read as TOML"),
    ],
    ids=[
        "empty",
        "comments",
        "latin-1",
        "utf-16",
        "twice",
        "bare word",
        "open string",
        "open list",
        "deep",
        "digits",
    ],
)
def test_invalid_toml_is_reported_with_its_line(tmp_path, content, message):
    path = tmp_path / "study.toml"
    path.write_bytes(content)
    assert message in refusal(path)


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path):
    path = tmp_path / "study.toml"
    path.write_bytes(b"\xef\xbb\xbf" + (CELLS + PLACES).replace("\n", "\r\n").encode())
    assert load(path).study.processes.p == [4, 8]


@given(st.text(st.sampled_from("[]{}=.\"'# \nabp0123456789-+e,"), max_size=60))
def test_any_text_is_either_a_study_or_refused_with_sentences(text):
    for candidate in (text, f"{CELLS}{PLACES}{text}"):
        try:
            loads(candidate, "study.toml")
        except BadInput as error:
            assert all(line.startswith("study.toml:") for line in str(error).splitlines())


VALUES = st.recursive(
    st.integers(-5, 1 << 40) | st.floats() | st.booleans() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = [
    "collective",
    "processes",
    "name",
    "engine",
    "seed",
    "patterns",
    "skew",
    "repetitions",
    "mpi",
    "start",
]
INNER = [
    "names",
    "sizes",
    "algorithms",
    "op",
    "datatype",
    "root",
    "p",
    "nodes",
    "ppn",
    "shapes",
    "files",
    "replays",
    "scale_files",
]
INNER += [
    "seed",
    "policy",
    "factors",
    "times",
    "minimum",
    "maximum",
    "time_cap",
    "hang_after",
    "prefix",
    "options",
]
INNER += ["launcher", "hostfile", "environment", "isolate", "tolerance", "confidence_width", "confidence"]
TABLES = st.dictionaries(st.sampled_from(INNER), VALUES, max_size=5)


@given(
    st.dictionaries(
        st.sampled_from(KEYS), VALUES | TABLES | st.lists(TABLES, min_size=1, max_size=2), max_size=6
    )
)
def test_values_of_any_type_in_any_key_are_refused_with_sentences(values):
    import tomlkit

    try:
        loads(tomlkit.dumps(values), "study.toml")
    except BadInput as error:
        assert all(line.startswith("study.toml:") for line in str(error).splitlines())


MANY = """
[[collective]]
names = ["reduce", "bcast"]
sizes = {sizes}
[processes]
p = {p}
"""


def test_a_study_of_too_many_cases_is_refused_before_each_is_checked(monkeypatch):
    text = MANY.format(sizes=list(range(1, 20001)), p=list(range(1, 20001)))
    (line,) = faults(text)
    assert "6,400,000,000 cases for each algorithm, more than the limit of 100,000" in line
    assert "OFFBEAT_CASE_LIMIT" in line
    small = MANY.format(sizes=[8, 64], p=[2, 4])
    monkeypatch.setenv("OFFBEAT_CASE_LIMIT", "63")
    assert "64 cases for each algorithm, more than the limit of 63" in faults(small)[0]
    monkeypatch.setenv("OFFBEAT_CASE_LIMIT", "64")
    loads(small, CONTEXT["folder"] / "study.toml")
    monkeypatch.setenv("OFFBEAT_CASE_LIMIT", "-1")
    assert "OFFBEAT_CASE_LIMIT is '-1'" in faults(small)[0]


def test_only_the_first_faults_are_shown_and_the_others_counted():
    lines = faults(MANY.format(sizes=[0 - size for size in range(1, 101)], p=[2]))
    assert len(lines) == 31
    assert lines[-1].endswith("70 more faults")
