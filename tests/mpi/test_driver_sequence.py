"""The real driver measures a sequence of calls: each repetition has the delays of one call."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from raw_commands import ask_raw

from offbeat.libraries.installations import build
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.driver import CommandRefused, Driver
from offbeat.libraries.launch.launch_command import command

pytestmark = pytest.mark.slow

TIMEOUT_S = 60.0
LARGE_TOLERANCE_NS = 10**9
DELAYS_NS = np.array(
    [[0, 40_000, 90_000, 10_000], [70_000, 0, 5_000, 0], [0, 0, 0, 0], [0, 1, 200_000, 60_000]]
)
"""Four calls of up to four ranks."""


class Session:
    """A driver with p processes, and its sample file."""

    def __init__(self, installation: Installation, p: int, folder: Path) -> None:
        self.p, self.folder, self.samples = p, folder, folder / "samples.bin"
        argv = [str(build.build_native(installation)), "--samples", str(self.samples)]
        launch = command(installation, argv, p)
        self.driver = Driver(launch.argv, launch.environment, folder / "log")

    def measure(self, **values: object) -> dict[str, object]:
        limits = {"repetitions": 10, "attempts": 10, "tolerance_ns": LARGE_TOLERANCE_NS}
        call = {"collective": "allreduce", "bytes": 8, "sequence": "calls.ns"}
        return ask_raw(self.driver, "measure", timeout_s=TIMEOUT_S, **(call | limits | values))

    def write(self, delays_ns: NDArray[np.int64], name: str = "calls.ns") -> None:
        text = "# comment\n\n" + "".join(" ".join(map(str, call)) + "\n" for call in delays_ns.tolist())
        (self.folder / name).write_text(text, encoding="ascii")

    def planned_ns(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The delays of each repetition, (repetitions, p), computed as arrival minus lateness; and the
        validity of each repetition."""
        raw = np.fromfile(self.samples, dtype=np.int64)
        repetitions = raw.size // (4 * self.p + 1)
        times = raw[: 4 * self.p * repetitions].reshape(self.p, repetitions, 4)
        return (times[:, :, 0] - times[:, :, 2]).T, raw[4 * self.p * repetitions :].astype(bool)


@pytest.fixture(params=[2, 4])
def session(
    request: pytest.FixtureRequest, some_mpi_installation: Installation, own_cache: Path, tmp_path: Path
) -> Iterator[Session]:
    opened = Session(some_mpi_installation, request.param, tmp_path)
    opened.write(DELAYS_NS[:, : opened.p])
    yield opened
    opened.driver.close()


def test_repetitions_follow_the_order_of_calls_cyclically(session: Session) -> None:
    answer = session.measure()
    planned, valid = session.planned_ns()
    assert valid.all()
    assert planned.tolist() == DELAYS_NS[np.arange(10) % 4, : session.p].tolist()
    assert (answer["calls"], answer["next"]) == (4, 2)


def test_a_sequence_starts_with_the_given_call(session: Session) -> None:
    answer = session.measure(repetitions=3, call=2)
    assert session.planned_ns()[0].tolist() == DELAYS_NS[[2, 3, 0], : session.p].tolist()
    assert answer["next"] == 1


def test_no_process_arrives_before_its_delay(session: Session) -> None:
    """On an oversubscribed machine a process may be late, but never early."""
    session.measure(repetitions=40, attempts=40)
    raw = np.fromfile(session.samples, dtype=np.int64)
    arrivals = raw[: 4 * session.p * 40].reshape(session.p, 40, 4)[:, :, 0].T
    assert (arrivals >= DELAYS_NS[np.arange(40) % 4, : session.p]).all()


def test_an_invalid_repetition_repeats_its_own_call(session: Session) -> None:
    assert session.measure(tolerance_ns=0)["next"] == 0
    planned, valid = session.planned_ns()
    assert not valid.any()
    assert planned.tolist() == [DELAYS_NS[0, : session.p].tolist()] * 10


def test_invalid_repetitions_skip_no_call(session: Session) -> None:
    """The call of a repetition is the number of valid repetitions before it, whichever of them are valid."""
    session.measure(attempts=40)
    times = np.fromfile(session.samples, dtype=np.int64)[: 4 * session.p * 10].reshape(session.p, 10, 4)
    median_ns = int(np.median((times[:, :, 2] + times[:, :, 3]).max(axis=0)))
    answer = session.measure(repetitions=40, attempts=60, tolerance_ns=median_ns)
    planned, valid = session.planned_ns()
    call = (np.cumsum(valid) - valid) % 4
    assert planned.tolist() == DELAYS_NS[call, : session.p].tolist()
    assert answer["next"] == valid.sum() % 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "^the sequence file could not be read$"),
        ("", "^the sequence has no calls$"),
        ("# nothing\n\n", "^the sequence has no calls$"),
        ("# first\n0 x\n", "^line 2 of the sequence does not have . delays in nanoseconds$"),
        ("0\n", "^line 1 of the sequence"),
        ("0 1 2 3 4\n", "^line 1 of the sequence"),
        ("0 1 2 -3\n", "^line 1 of the sequence"),
        ("0 1.5 0 0\n", "^line 1 of the sequence"),
        ("0 99999999999999999999 0 0\n", "^line 1 of the sequence"),
    ],
)
def test_invalid_sequence_files_are_refused_and_the_launch_stays_usable(
    session: Session, text: str | None, message: str
) -> None:
    if text is not None:
        (session.folder / "odd.ns").write_text(text)
    with pytest.raises(CommandRefused, match=message):
        session.measure(sequence="odd.ns")
    assert session.measure(repetitions=1)["valid"] == 1


def test_an_absolute_path_is_accepted(session: Session, tmp_path_factory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "calls.ns"
    elsewhere.write_text(" ".join(["0"] * session.p))
    assert session.measure(sequence=elsewhere, repetitions=2)["calls"] == 1


def test_a_long_sequence_reaches_every_process(session: Session) -> None:
    delays = np.random.default_rng(3).integers(0, 1000, (5000, session.p))
    session.write(delays)
    session.measure(repetitions=20, attempts=20, call=4990)
    assert session.planned_ns()[0].tolist() == delays[np.arange(4990, 5010) % 5000].tolist()


def test_without_a_sequence_the_answer_has_no_calls(session: Session) -> None:
    answer = ask_raw(session.driver, "measure", timeout_s=TIMEOUT_S, collective="reduce", bytes=8)
    assert answer == {"ok": True, "tried": 1, "valid": 1}


def test_every_library_measures_a_sequence(
    mpi_installation: Installation, own_cache: Path, tmp_path: Path
) -> None:
    session = Session(mpi_installation, 2, tmp_path)
    session.write(DELAYS_NS[:, :2])
    session.measure(repetitions=8, attempts=8)
    session.driver.close()
    assert session.planned_ns()[0].tolist() == DELAYS_NS[np.arange(8) % 4, :2].tolist()
