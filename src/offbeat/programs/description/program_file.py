"""From a program file to a checked :class:`ProgramFile`."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct, structs

from offbeat.base.errors import BadInput
from offbeat.base.toml.bundled_files import Presets
from offbeat.base.toml.faults import KeyFault, Words, refuse
from offbeat.base.toml.lines import Key, key_lines, line_of, parse, read_text, where
from offbeat.base.toml.structure import Form, stated_keys, structure_of
from offbeat.base.toml.write import toml_text
from offbeat.model.platform.machine import MAX_RANKS
from offbeat.model.study.collectives import COLLECTIVES
from offbeat.programs.description.checks import check_values, phase_name
from offbeat.programs.description.schema import MAX_ITERATIONS, PhaseSection, ProgramFile

FORM = Form(ProgramFile, {"collective": Words("a collective", tuple(COLLECTIVES))})
"""The structure of program files."""

PRESETS = Presets(Path(__file__).with_name("presets"), "a program", first="mst")
"""The programs that come with offbeat."""

_REMEDY = "'offbeat program init' writes one to start from"


class Program(Struct, frozen=True, kw_only=True):
    """A checked program: ``file`` determines runs, ``path`` is for messages.

    ``text`` is that of the file, empty for a program that comes from Python.
    """

    file: ProgramFile
    path: str
    text: str

    @property
    def name(self) -> str:
        """The program's name for tables."""
        return self.file.name

    @property
    def toml(self) -> str:
        """The text of the file, or one written for a program that comes from Python."""
        return self.text or toml_text(self.file)

    def phase_names(self) -> list[str]:
        """The name of each phase."""
        return [phase_name(phase.name, phase.kind, index) for index, phase in enumerate(self.file.phase)]

    def line(self, key: Key) -> int:
        """The line of a key in the file."""
        return line_of(key_lines(self.text), key)

    def where(self, key: Key) -> str:
        """The prefix of messages about a key: ``program.toml:12: phase[1].grid:``, without a file the key
        alone."""
        return where(self.path, key_lines(self.text), key).rstrip()

    def resized(self, *, ranks: int = 0, iterations: int = 0, seed: int | None = None) -> Program:
        """The program with other numbers of ranks and iterations (0: those of the file), or another seed.

        Raises :class:`BadInput` for numbers that no program can have.
        """
        for option, number, most in (("ranks", ranks, MAX_RANKS), ("iterations", iterations, MAX_ITERATIONS)):
            if not 0 <= number <= most:
                raise BadInput(f"{number} {option}: a program has from 1 to {most}")
        file = structs.replace(
            self.file,
            ranks=ranks or self.file.ranks,
            iterations=iterations or self.file.iterations,
            seed=self.file.seed if seed is None else seed,
        )
        return structs.replace(self, file=file)

    def without_noise(self) -> Program:
        """The program without the delays of its ranks."""
        return structs.replace(self, file=structs.replace(self.file, noise=[]))

    def with_phases(self, phases: list[PhaseSection]) -> Program:
        """The program with other phases, and without noise."""
        return structs.replace(self, file=structs.replace(self.file, phase=phases, noise=[]))


def load(path_or_preset: Path | str) -> Program:
    """Read and check a program file, or a program that comes with offbeat by its name.

    A word without a slash or a suffix is such a name. Raises :class:`BadInput` with a line for every fault.
    """
    path = PRESETS.resolve(path_or_preset)
    return loads(read_text(path, "the program file", _REMEDY), path)


def loads(text: str, path: Path | str) -> Program:
    """Check the text of a program file; ``path`` is for messages."""
    path = Path(path)
    raw = parse(text, path, f"the program is empty; {_REMEDY}")
    file, faults = structure_of(raw, FORM, check_values)
    refuse(faults, path, key_lines(text))
    return Program(file=file, path=str(path), text=text)


def check(file: ProgramFile) -> list[KeyFault]:
    """Returns the faults of a program."""
    return structure_of(stated_keys(file), FORM, check_values)[1]


def from_structure(file: ProgramFile, source: Path | str) -> Program:
    """Returns a program from Python, if it has no fault; ``source`` stands for its file in messages.

    Raises :class:`BadInput` with the key of every fault.
    """
    refuse(check(file))
    return Program(file=file, path=str(source), text="")
