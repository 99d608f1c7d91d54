"""Rules files are read as Open MPI reads them: what a file forces, and what makes the library ignore it."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.libraries.families.openmpi import OpenMpiSteering
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch import launch_command
from offbeat.libraries.launch.driver import Driver, DriverLost
from offbeat.libraries.launch.driver_protocol import Observe
from offbeat.measurement.engines.engine_choice import list_algorithms
from offbeat.selection.tuning_files.openmpi import COLLECTIVES
from offbeat.selection.user_rules.openmpi_reader import position, reached_entries, read_rules

DRAWS = int(os.environ.get("OFFBEAT_TEST_DRAWS", "4"))
P, SIZE = 3, 1536
CALLED = ("alltoall", "bcast", "allreduce", "allgather")
LIBRARY_SIZE = {"alltoall": SIZE * P, "bcast": SIZE, "allreduce": SIZE, "allgather": SIZE * P}


def drawn_file(chance: random.Random) -> str:
    """A valid file with rules of several collectives, communicator sizes and message sizes."""
    lines = []
    names = chance.sample([*CALLED, "barrier", "scan"], chance.randint(1, 4))
    is_version_2 = chance.random() < 0.3
    lines += ["rule-file-version-2"] if is_version_2 else []
    lines += chance.choice([["# a comment"], [], [""]]) if not is_version_2 else []
    lines.append(f"{len(names)} # collectives")
    for name in names:
        processes = sorted(chance.sample(range(7), chance.randint(1, 3)))
        if chance.random() < 0.2:
            chance.shuffle(processes)
        lines += [str(COLLECTIVES[name].number), str(len(processes))]
        for p in processes:
            sizes = [0, *sorted(chance.sample([1, 512, 1024, 2048, 4608, 9000], chance.randint(0, 3)))]
            lines += [chance.choice([f"{p}", f"0x{p:x}", f"+{p}"]), str(len(sizes))]
            for size in sizes:
                requests = f" {chance.randint(0, 2)}" if is_version_2 and chance.random() < 0.5 else ""
                lines.append(f"{size} {chance.randint(0, 3)} 0 {chance.choice([0, 0, 64])}{requests}")
    return "\n".join(lines) + "\n"


def mutated(chance: random.Random, text: str) -> str:
    """A file with one to three changes of words, characters or lines."""
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(text) + 1)
        lines = text.splitlines(keepends=True) or [""]
        number = chance.randrange(len(lines))
        text = chance.choice(
            [
                text[:place] + chance.choice("0123#x-+ \nab,;") + text[place:],
                text[:place] + text[place + 1 :],
                text[:place],
                "".join(lines[:number] + lines[number + 1 :]),
                "".join([*lines[:number], lines[number], *lines[number:]]),
                text + chance.choice(["7 7 7\n", "# end", "x"]),
            ]
        )
    return text


def executed(installation: Installation, driver: Path, folder: Path, rules: Path | None) -> dict[str, str]:
    """Collective → the function that the library runs with a rules file; the reason if the launch fails."""
    environment = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}
    if rules is not None:
        environment["OMPI_MCA_coll_tuned_dynamic_rules_filename"] = str(rules)
    started = launch_command.command(
        installation, [str(driver), "--samples", str(folder / "samples")], P, environment=environment
    )
    running = Driver(started.argv, started.environment, folder / "log.txt")
    steering, found = OpenMpiSteering(), {}
    try:
        for collective in CALLED:
            answer = running.ask(Observe(collective=collective, bytes=SIZE, root=0), timeout_s=60)
            found[collective] = steering.identify_executed(collective, answer.functions.split())
    except DriverLost as lost:
        return {"lost": str(lost)}
    finally:
        running.close()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("mpi_installation", ["openmpi4", "openmpi5"], indirect=True)
def test_the_reader_says_what_the_library_runs_with_drawn_and_damaged_files(
    mpi_installation, mpi_driver, tmp_path
):
    chance = random.Random(f"{mpi_installation.name} {os.environ.get('OFFBEAT_TEST_SEED', '1')}")
    default = executed(mpi_installation, mpi_driver, tmp_path, None)
    names = {
        (one.collective, int(one.settings[f"coll_tuned_{one.collective}_algorithm"])): one
        for algorithms in list_algorithms(mpi_installation).values()
        for one in algorithms
        if f"coll_tuned_{one.collective}_algorithm" in one.settings
    }
    seen = set()
    for draw in range(DRAWS):
        text = drawn_file(chance)
        text = mutated(chance, text) if draw % 2 else text
        rules = tmp_path / f"{draw}.rules"
        rules.write_text(text)
        read = read_rules(text.encode(), knows_version_2=mpi_installation.is_at_least(5, 0, 7))
        ran = executed(mpi_installation, mpi_driver, tmp_path, rules)
        expected = {}
        for collective in CALLED:
            rule = read.rule_for(COLLECTIVES[collective].number, P, LIBRARY_SIZE[collective])
            number = rule.algorithm if rule else 0
            expected[collective] = names.get((collective, number)) if number else None
            seen.add((read.fault is None, number > 0))
            if number and expected[collective] is None:
                break  # a number without an algorithm: the call fails
        else:
            for collective, algorithm in expected.items():
                function = ran[collective]
                agrees = (
                    function == default[collective]
                    if algorithm is None
                    else OpenMpiSteering().name_matches(algorithm, function)
                    or falls_back(algorithm.name, function)
                )
                assert agrees, (draw, collective, algorithm, function, read.fault, text)
    assert {(True, True), (True, False)} <= seen


def falls_back(name: str, function: str) -> bool:
    """allgather by recursive doubling is replaced where p is not a power of two."""
    return name == "recursive_doubling" and function.endswith("allgather_intra_bruck")


BROKEN = """2 # collectives, but only one follows
3 # alltoall
1 # communicator sizes
2 # for 2 processes
3 # message sizes, but two follow
0 3 0 0
1024 2 0 0
"""


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (BROKEN, 8, "the file ends, and message size 3 of 3 (announced in line 5) is missing"),
        ("1\n3\n1\n2\n1\n512 3 0 0\n", 6, "the first message size must be 0, and it is 512"),
        ("1\n99\n0\n", 2, "99 is no collective's number, which is 0 to 21"),
        ("30\n", 1, "30 collectives are announced, and Open MPI numbers 22"),
        ("1\n3\n-1\n", 3, "-1 is the number of communicator sizes of collective 3, which cannot be negative"),
        ("", 1, "the file ends, and the number of collectives is missing"),
        ("rule-file-version-2\n0\n", 1, "-2 is the number of collectives, which cannot be negative"),
    ],
)
def test_a_file_that_the_library_ignores_is_explained_with_its_line_and_the_wrong_count(text, line, what):
    fault = read_rules(text.encode(), knows_version_2=False).fault
    assert (fault.line, fault.message) == (line, what)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6))
def test_an_entry_is_reached_exactly_if_some_value_finds_it(keys):
    found = {position(keys, value) for value in range(12)}
    assert {place for place, _, _ in reached_entries(keys)} == found
    for place, low, high in reached_entries(keys):
        assert position(keys, low) == place
        assert position(keys, high if high is not None else 11) == place


@given(st.binary(max_size=80), st.booleans())
def test_any_bytes_are_read_without_an_error(content, knows_version_2):
    rules = read_rules(content, knows_version_2=knows_version_2)
    assert rules.fault is None or rules.fault.line >= 1
