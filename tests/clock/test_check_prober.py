"""The requests of a step to the driver, and what happens to a launch that dies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from check_factory import checked_algorithms, plan
from raw_commands import made_answer

from offbeat.base.errors import RunFailed
from offbeat.libraries.launch.driver import CommandRefused, DriverLost
from offbeat.libraries.launch.driver_protocol import AnswerType, Command
from offbeat.measurement.clock_check.check_plan import Step
from offbeat.measurement.clock_check.measure import LaunchedProber
from offbeat.measurement.clock_check.rows import HARMONIZE, Accuracy, Start, Sync
from offbeat.measurement.engines.driver_launches import LaunchSpec
from offbeat.model.study.algorithm import Algorithm

ANSWERS: dict[str, dict[str, object]] = {
    "start": {
        "ok": True,
        **{name: [1, 2] for name in ("skew_ns", "least_skew_ns", "most_skew_ns", "taken_ns", "longest_ns")},
        "last_delay_ns": [1, 2],
        "verdicts": [0, 0],
        "lags_ns": [0, 1, 2, 3],
    },
    "sync": {"ok": True, "shared": True, "taken_ns": [5], "exchanges": [9], "bound_ns": [0]},
    "accuracy": {
        "ok": True,
        "physical": True,
        **{
            name: [1]
            for name in (
                "methods",
                "rounds",
                "ranks",
                "planned_ns",
                "ages_ns",
                "low_ns",
                "high_ns",
                "bound_ns",
            )
        },
    },
}


class MadeEngine:
    """An engine with fake launches: answers with :data:`ANSWERS`, or calls ``act`` instead.

    ``asked`` has a row per command with the launch and its forced settings; ``own_launch`` are algorithms
    that the library does not switch to while it runs.
    """

    def __init__(
        self, act: Callable[[str], None] = lambda verb: None, own_launch: Sequence[str] = (), sick: str = ""
    ) -> None:
        self.asked: list[tuple[str, LaunchSpec, tuple[str, ...], dict[str, Any]]] = []
        self.dropped = 0
        self.installation = SimpleNamespace(name="made-1.0")
        self.launches = self
        self.steering = self
        self._act, self._own_launch, self._sick = act, own_launch, sick
        self._where: LaunchSpec | None = None
        self._forced: tuple[str, ...] = ()

    def variables(self) -> list[object]:
        return []

    def environment(self, installation: object) -> dict[str, str]:
        return {"STEER": "1"}

    def force_arguments(self, algorithm: Algorithm, variables: object) -> list[str] | None:
        if algorithm.name in self._own_launch:
            return None
        return [f"{algorithm.collective}={algorithm.name}"] if algorithm.name != "default" else []

    def launch_environment(self, algorithm: Algorithm) -> dict[str, str]:
        return {f"FORCE_{algorithm.collective}": algorithm.name}

    def command(self, where: LaunchSpec) -> object:
        return SimpleNamespace(argv=["run", str(where.steerable)], environment=dict(where.environment))

    def get(self, where: LaunchSpec) -> MadeEngine:
        self._where = where
        return self

    def force(self, driver: object, arguments: Sequence[str], timeout_s: float) -> None:
        self._forced = tuple(arguments)

    def ask(self, command: Command[AnswerType], *, timeout_s: float) -> AnswerType:
        assert self._where is not None
        self.asked.append((command.verb, self._where, self._forced, command.values()))
        self._act(command.verb)
        return made_answer(command, ANSWERS[command.verb])

    def drop(self) -> None:
        self.dropped += 1

    def failure(self, where: LaunchSpec, timeout_s: float) -> str:
        return self._sick


def prober(engine: MadeEngine) -> LaunchedProber:
    return LaunchedProber(engine, plan(), checked_algorithms())  # type: ignore[arg-type]


def a_start(start: str = "tree", algorithm: str = "linear") -> Step:
    collective = "reduce" if algorithm else ""
    words = {"start": start, "collective": collective, "algorithm": algorithm, "bytes": 8 if algorithm else 0}
    return Step(id=f"start 0 {start} {algorithm}", kind="start", **words)


def test_an_answer_becomes_a_row_with_its_request() -> None:
    row = prober(MadeEngine()).do(a_start())
    assert isinstance(row, Start) and not row.failure
    assert (row.start, row.collective, row.algorithm, row.bytes) == ("tree", "reduce", "linear", 8)
    assert row.skew_ns == [1, 2] and row.lags_ns == [0, 1, 2, 3]


def test_barrier_and_collective_are_forced_together() -> None:
    engine = MadeEngine()
    prober(engine).do(a_start())
    _, where, forced, values = engine.asked[0]
    assert forced == ("barrier=tree", "reduce=linear") and where.steerable
    assert dict(where.environment) == {"STEER": "1"} and values["by"] == "barrier"
    prober(engine).do(a_start(HARMONIZE))
    assert engine.asked[1][2] == ("reduce=linear",) and engine.asked[1][3]["by"] == "harmonize"


def test_algorithms_that_cannot_be_switched_get_a_separate_launch() -> None:
    engine = MadeEngine(own_launch=["tree"])
    prober(engine).do(a_start())
    assert dict(engine.asked[0][1].environment)["FORCE_barrier"] == "tree"
    assert engine.asked[0][2] == ("reduce=linear",)


@pytest.mark.parametrize(
    ("start", "algorithm", "steerable"),
    [
        ("default", "default", False),
        ("default", "", False),
        (HARMONIZE, "default", False),
        (HARMONIZE, "", True),
        ("default", "linear", True),
        ("tree", "default", True),
    ],
)
def test_defaults_are_measured_in_a_launch_without_forced_settings(
    start: str, algorithm: str, steerable: bool
) -> None:
    engine = MadeEngine()
    prober(engine).do(a_start(start, algorithm))
    assert engine.asked[0][1].steerable == steerable


def test_steps_with_artificial_drift_request_distorted_clocks() -> None:
    engine = MadeEngine()
    for distorted in (True, False):
        row = prober(engine).do(Step(id="s", kind="sync", method="jk", processes=2, is_distorted=distorted))
        assert isinstance(row, Sync) and row.is_distorted == distorted and row.method == "jk"
        compared = prober(engine).do(Step(id="a", kind="accuracy", is_distorted=distorted))
        assert isinstance(compared, Accuracy) and compared.names == ["constraints", "offset"]
    sources = [str(values.get("source", "")).split(":")[0] for *_, values in engine.asked]
    assert sources == ["virtual", "virtual", "", ""]


def test_a_refusal_is_recorded_and_the_launch_continues() -> None:
    def refuse(verb: str) -> None:
        raise CommandRefused("it would not")

    engine = MadeEngine(refuse)
    row = prober(engine).do(a_start())
    assert row.failure == "it would not" and engine.dropped == 0


def test_a_launch_that_dies_twice_in_the_same_pair_is_not_tried_a_third_time() -> None:
    def die(verb: str) -> None:
        raise DriverLost("it crashed")

    engine = MadeEngine(die)
    asked = prober(engine)
    failures = [asked.do(a_start()).failure for _ in range(3)]
    assert failures == ["it crashed", "it crashed", "not tried again: it crashed"]
    assert len(engine.asked) == engine.dropped == 2
    assert asked.do(a_start("double_ring")).failure == "it crashed"


def test_if_nothing_can_be_launched_any_more_the_check_ends_with_a_sentence() -> None:
    def die(verb: str) -> None:
        raise DriverLost("it crashed")

    with pytest.raises(
        RunFailed, match=r"made-1\.0 cannot be launched with 4 processes: no cores left; remove the cause"
    ):
        prober(MadeEngine(die, sick="no cores left")).do(a_start())
