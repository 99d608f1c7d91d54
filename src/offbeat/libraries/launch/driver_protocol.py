"""The messages between the front end and the drivers: a structure for each command and for each answer.

A command is one line: a verb and arguments ``key=value``. An answer is one line with a JSON object. The
driver's are below; those of the program for SimGrid are in :mod:`offbeat.measurement.engines.smpi_commands`;
the lines of a plan for the executor of programs are commands, too, and are in
:mod:`offbeat.programs.execution.plan_lines`. The table of all is ``native/protocol/protocol.c``, which says
what the keys mean and which defaults they have; ``tests/mpi/test_protocol.py`` compares it with the
structures. A key that a command leaves unset is not sent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, Generic, Required, TypedDict, TypeVar, get_args, get_origin

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from offbeat.base.errors import RunFailed
from offbeat.base.reading import decode_json
from offbeat.libraries.families.library import Variable
from offbeat.model.study import evidence

VERSION = 1
"""``OFFBEAT_PROTOCOL_VERSION`` in ``native/protocol/protocol.h``; drivers answer it to ``hello``."""

Rows = list[list[int] | None]
"""None, then lists of numbers."""


class Answer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer, without the key ``ok``; this one says only that the command was executed."""


AnswerType = TypeVar("AnswerType", bound=Answer, covariant=True)


class Command(Struct, Generic[AnswerType], frozen=True, kw_only=True):
    """A command, whose answer is an ``AnswerType``; each class below has the keys of one verb, its tag."""

    @property
    def verb(self) -> str:
        """The first word of the line."""
        return str(self.__struct_config__.tag)

    @classmethod
    def answer(cls) -> type[AnswerType]:
        """The type of the answer: the argument of ``Command[...]`` among the bases."""
        bases: Iterable[Any] = vars(cls)["__orig_bases__"]
        (answer,) = (get_args(base)[0] for base in bases if get_origin(base) is Command)
        kind: type[AnswerType] = answer
        return kind

    def values(self) -> dict[str, object]:
        """The keys that are set, with their values."""
        keys = zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True)
        set_keys = ((key, getattr(self, name)) for name, key in keys)
        return {key: value for key, value in set_keys if not isinstance(value, UnsetType)}

    def line(self) -> str:
        """The command as a line of the worklist. Raises RunFailed for a value that no line can hold."""
        return " ".join([self.verb, *(f"{key}={_word(key, value)}" for key, value in self.values().items())])


def _word(key: str, value: object) -> str:
    """A value as it is sent: lists separated by commas, times in all their digits."""
    if isinstance(value, list | tuple):
        return ",".join(_word(key, one) for one in value)
    if isinstance(value, bool):
        return str(int(value))
    word = repr(value) if isinstance(value, float) else str(value)
    if not word.isascii() or any(character.isspace() for character in word):
        raise RunFailed(
            f"the driver cannot be sent {key} = {word!r}: a value must be ASCII and must not have blanks"
        )
    return word


def decode(command: Command[AnswerType], answer: bytes) -> AnswerType:
    """The answer to a command, given as a JSON object. Raises RunFailed unless it has the command's keys."""
    try:
        fields = decode_json(answer, dict[str, msgspec.Raw])
        fields.pop("ok", None)
        answer_object: Any = decode_json(msgspec.json.encode(fields), command.answer())
    except msgspec.DecodeError as error:
        raise RunFailed(
            f"the driver's answer to '{command.verb}' is not that of this offbeat: {error}; remove the folder"
            " 'native' in offbeat's cache, so that the driver is built again"
        ) from None
    version = getattr(answer_object, "protocol", VERSION)
    if version != VERSION:
        raise RunFailed(
            f"the driver speaks version {version} of the protocol, this offbeat version {VERSION};"
            " remove the folder 'native' in offbeat's cache, so that the driver is built again"
        )
    result: AnswerType = answer_object
    return result


class CallArguments(TypedDict, total=False):
    """The keys of a collective call, to pass on to the commands that have them."""

    collective: Required[str]
    bytes: int
    datatype: str
    op: str
    root: int
    communicators: int
    stride: int


# --- answers ---------------------------------------------------------------------------------------------


class LaunchFacts(Struct, frozen=True, kw_only=True):
    """What the driver says of its launch; ``places`` has one entry per rank, ``host core,core``.

    ``clock_shared`` says that all processes read one physical clock; ``clock_bound_ns`` is the largest error
    bound of the shared clock, ``overshoot_ns`` the largest delay of a process behind the harmonised start;
    ``switches`` whether the library can change algorithms while it runs.
    """

    p: int
    library: str
    clock_source: str
    clock_resolution_ns: int
    clock_shared: bool
    clock_bound_ns: int
    overshoot_ns: int
    switches: bool
    places: list[str]

    @property
    def host_of_rank(self) -> list[str]:
        """The host of each rank."""
        return [place.split(" ")[0] for place in self.places]

    @property
    def hosts(self) -> list[str]:
        """The hosts that processes ran on, each once."""
        return list(dict.fromkeys(self.host_of_rank))

    @property
    def binding(self) -> list[str]:
        """Per rank, the cores it may run on, as ``0,1``."""
        return [place.partition(" ")[2] for place in self.places]


class DriverGreeting(LaunchFacts, Answer, frozen=True, kw_only=True):
    """The driver's answer to ``hello``; ``domains`` has the ccNUMA domain of each rank on its node."""

    protocol: int
    family: str
    domains: list[int]


class VariablesAnswer(Answer, frozen=True, kw_only=True):
    """The library's control variables."""

    variables: list[Variable]


class CheckAnswer(Answer, frozen=True, kw_only=True):
    """The number of wrong elements, and the MPI error, empty without one."""

    wrong: int
    error: str


class CallAnswer(Answer, frozen=True, kw_only=True):
    """The number of wrong basic elements, of bytes that MPI must not write and wrote, and the MPI error.

    If anything is wrong, ``misplaced`` is the number of datatypes that MPI_Pack or MPI_Unpack get wrong, too.
    """

    wrong: int
    guards: int
    misplaced: int
    error: str


class ReductionBits(Answer, frozen=True, kw_only=True):
    """A digest of the result of each process, and the MPI error, empty without one."""

    digests: list[int]
    error: str

    @property
    def digest(self) -> str:
        """The digests of all processes as one; empty if the call failed."""
        text = " ".join(map(str, self.digests))
        return "" if self.error else hashlib.sha256(text.encode()).hexdigest()[:16]


class ObservationAnswer(Answer, frozen=True, kw_only=True):
    """An observed call: function names separated by blanks; messages as sender, receiver and size."""

    sees_functions: bool
    sees_messages: bool
    functions: str
    messages: Rows

    @property
    def evidence(self) -> str:
        """The observation as text; empty if nothing was observed."""
        messages = [row for row in self.messages if row] if self.sees_messages else []
        return evidence.from_observation(self.functions, messages)


class MeasurementAnswer(Answer, frozen=True, kw_only=True):
    """The number of repetitions, and of valid ones; of a sequence its number of calls, and the next call."""

    tried: int
    valid: int
    calls: int = 0
    next: int = 0


class PartitionedAnswer(Answer, frozen=True, kw_only=True):
    """The number of repetitions, of valid ones, and of wrong bytes that the receiver got."""

    tried: int
    valid: int
    wrong: int


class ApproachesAnswer(Answer, frozen=True, kw_only=True):
    """The names of the library's approaches."""

    approaches: list[str]


class FingerprintTaken(Answer, frozen=True, kw_only=True):
    """Lists of a delayed rank and of the ranks that left late."""

    late: Rows

    @property
    def evidence(self) -> str:
        """The ranks that left late, as text."""
        return evidence.from_fingerprint([row for row in self.late if row])


class TimesAnswer(Answer, frozen=True, kw_only=True):
    """The duration of each repetition."""

    taken_ns: list[int]


class LateTimed(Answer, frozen=True, kw_only=True):
    """The duration of the send and of the receive of each repetition."""

    send_ns: list[int]
    receive_ns: list[int]


class StartAnswer(Answer, frozen=True, kw_only=True):
    """What is known of each start; see :class:`offbeat.measurement.clock_check.rows.Start`."""

    skew_ns: list[int]
    least_skew_ns: list[int]
    most_skew_ns: list[int]
    taken_ns: list[int]
    longest_ns: list[int]
    last_delay_ns: list[int]
    verdicts: list[int]
    lags_ns: list[int]


class SyncAnswer(Answer, frozen=True, kw_only=True):
    """What is known of each synchronisation; see :class:`offbeat.measurement.clock_check.rows.Sync`."""

    shared: bool
    taken_ns: list[int]
    exchanges: list[int]
    bound_ns: list[int]


class AccuracyAnswer(Answer, frozen=True, kw_only=True):
    """The bounds of comparisons of clocks: ``Accuracy`` of :mod:`offbeat.measurement.clock_check.rows`."""

    physical: bool
    methods: list[int]
    rounds: list[int]
    planned_ns: list[int]
    ages_ns: list[int]
    low_ns: list[int]
    high_ns: list[int]
    bound_ns: list[int]
    ranks: list[int]


# --- commands --------------------------------------------------------------------------------------------


class Force(Command[Answer], frozen=True, kw_only=True, tag="force"):
    """Sets variables of the library: ``VAR=VALUE`` each."""

    settings: tuple[str, ...]

    def line(self) -> str:
        """The settings have no key."""
        return " ".join([self.verb, *(_word("a variable", setting) for setting in self.settings)])


class ListVariables(Command[VariablesAnswer], frozen=True, kw_only=True, tag="variables"):
    """Lists the library's control variables."""

    regex: str | UnsetType = UNSET


class CallOptions(Struct, frozen=True, kw_only=True):
    """The arguments of a collective call."""

    bytes: int | UnsetType = UNSET
    datatype: str | UnsetType = UNSET
    op: str | UnsetType = UNSET
    root: int | UnsetType = UNSET


class Call(CallOptions, frozen=True, kw_only=True):
    """The collective call of a command."""

    collective: str


class CallInLayout(Call, frozen=True, kw_only=True):
    """The collective call of a command, on several communicators at the same time."""

    communicators: int | UnsetType = UNSET
    stride: int | UnsetType = UNSET


class Check(CallInLayout, Command[CheckAnswer], frozen=True, kw_only=True, tag="check"):
    """Calls the collective once and checks its result."""

    in_place: int | UnsetType = UNSET
    null_ignored: int | UnsetType = UNSET
    counts: str | UnsetType = UNSET
    members: list[int] | UnsetType = UNSET


class CallDrawn(Command[CallAnswer], frozen=True, kw_only=True, tag="call"):
    """Makes one legal call and checks it; its line is the descriptor of the call."""

    collective: str
    members: list[int]
    next: list[int] | UnsetType = UNSET
    send: str | UnsetType = UNSET
    receive: str | UnsetType = UNSET
    elements: list[int] | UnsetType = UNSET
    slope: int | UnsetType = UNSET
    gap: int | UnsetType = UNSET
    descending: int | UnsetType = UNSET
    op: str | UnsetType = UNSET
    root: int | UnsetType = UNSET
    in_place: int | UnsetType = UNSET
    nulls: int | UnsetType = UNSET


class Bits(CallInLayout, Command[ReductionBits], frozen=True, kw_only=True, tag="bits"):
    """Calls a reduction with numbers whose sum depends on the order of its additions."""


class Observe(CallInLayout, Command[ObservationAnswer], frozen=True, kw_only=True, tag="observe"):
    """Calls the collective once and observes functions and messages."""


class Measure(CallInLayout, Command[MeasurementAnswer], frozen=True, kw_only=True, tag="measure"):
    """Measures the collective, and writes the sample file."""

    warmups: int | UnsetType = UNSET
    repetitions: int | UnsetType = UNSET
    attempts: int | UnsetType = UNSET
    duration_ns: int | UnsetType = UNSET
    unrecorded: int | UnsetType = UNSET
    sequence: str | UnsetType = UNSET
    call: int | UnsetType = UNSET
    delays: list[int] | UnsetType = UNSET
    tolerance_ns: int | UnsetType = UNSET
    tolerance_bounds: int | UnsetType = UNSET


class MeasurePartitioned(Command[PartitionedAnswer], frozen=True, kw_only=True, tag="partitioned"):
    """Measures a message in partitions from rank 0 to rank 1, and writes the sample file."""

    approach: str
    bytes: int
    partitions: int | UnsetType = UNSET
    threads: int | UnsetType = UNSET
    delays: list[int] | UnsetType = UNSET
    repetitions: int | UnsetType = UNSET
    attempts: int | UnsetType = UNSET
    duration_ns: int | UnsetType = UNSET
    unrecorded: int | UnsetType = UNSET
    tolerance_ns: int | UnsetType = UNSET
    tolerance_bounds: int | UnsetType = UNSET


class ListApproaches(Command[ApproachesAnswer], frozen=True, kw_only=True, tag="approaches"):
    """Lists the approaches that the library has."""


class Fingerprint(CallInLayout, Command[FingerprintTaken], frozen=True, kw_only=True, tag="fingerprint"):
    """Delays one rank after another."""

    most: int | UnsetType = UNSET
    delay_ns: int | UnsetType = UNSET


class Transfer(Struct, frozen=True, kw_only=True):
    """The messages or the work of a command, and its repetitions."""

    bytes: int | UnsetType = UNSET
    messages: int | UnsetType = UNSET
    repetitions: int | UnsetType = UNSET
    warmups: int | UnsetType = UNSET


class PingPong(Transfer, Command[TimesAnswer], frozen=True, kw_only=True, tag="pingpong"):
    """Round trips between two ranks."""

    sender: int | UnsetType = field(default=UNSET, name="from")
    receiver: int | UnsetType = field(default=UNSET, name="to")
    cold: int | UnsetType = UNSET


class LateReceiver(Transfer, Command[LateTimed], frozen=True, kw_only=True, tag="late"):
    """Messages whose receives are posted late."""

    sender: int | UnsetType = field(default=UNSET, name="from")
    receiver: int | UnsetType = field(default=UNSET, name="to")
    delay_ns: int | UnsetType = UNSET


class Stream(Transfer, Command[TimesAnswer], frozen=True, kw_only=True, tag="stream"):
    """Messages of several pairs of ranks at the same time."""

    senders: list[int]
    receivers: list[int]
    cold: int | UnsetType = UNSET


class LocalWork(Transfer, Command[TimesAnswer], frozen=True, kw_only=True, tag="local"):
    """Reductions or copies on rank 0."""

    work: str | UnsetType = UNSET


class TimeWork(Command[TimesAnswer], frozen=True, kw_only=True, tag="work"):
    """Work that some ranks do at a common start."""

    ranks: list[int]
    memory: int | UnsetType = UNSET
    flops: int | UnsetType = UNSET
    repetitions: int | UnsetType = UNSET
    warmups: int | UnsetType = UNSET


class MeasureStart(CallOptions, Command[StartAnswer], frozen=True, kw_only=True, tag="start"):
    """Starts, by a barrier or harmonised, each followed by a collective or by nothing."""

    by: str | UnsetType = UNSET
    repetitions: int | UnsetType = UNSET
    warmups: int | UnsetType = UNSET
    collective: str | UnsetType = UNSET


class MeasureSync(Command[SyncAnswer], frozen=True, kw_only=True, tag="sync"):
    """Synchronises one clock repeatedly."""

    method: str | UnsetType = UNSET
    processes: int | UnsetType = UNSET
    repetitions: int | UnsetType = UNSET
    source: str | UnsetType = UNSET
    exchanges: int | UnsetType = UNSET


class MeasureAccuracy(Command[AccuracyAnswer], frozen=True, kw_only=True, tag="accuracy"):
    """Compares clocks of several methods with rank 0's."""

    methods: list[str] | UnsetType = UNSET
    ages: list[int] | UnsetType = UNSET
    rounds: int | UnsetType = UNSET
    source: str | UnsetType = UNSET
    exchanges: int | UnsetType = UNSET


class Hello(Command[DriverGreeting], frozen=True, kw_only=True, tag="hello"):
    """Asks for the library, the clock and the binding."""


class Quit(Command[Answer], frozen=True, kw_only=True, tag="quit"):
    """Ends the program, which does not answer."""
