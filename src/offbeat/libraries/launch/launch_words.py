"""The words of a launch command: the options of its launcher with their values, its programs and the colons
between them.

mpirun and mpiexec mean the launchers of Open MPI (orterun, prterun) and of MPICH and Intel MPI (hydra), whose
options have one dash or two. srun's long options have two dashes, its short ones may be joined with their
value.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

LAUNCHERS = ("mpirun", "mpiexec", "orterun", "prterun", "prun")
"""Prefixes of launchers that forward only the variables that their options name; srun forwards its whole
environment."""

NEXT_PROGRAM, END_OF_OPTIONS = ":", "--"
"""The word between the programs of an MPMD command, and the word after the last option."""

PROGRAM_FILES = ("app", "configfile", "--multi-prog")
"""Options of Open MPI's launcher, hydra and srun, which then read the programs from a file."""


class Word(Struct, frozen=True, kw_only=True):
    """An option of the launcher with its values, or a word of a program.

    ``option`` is the option's name without dashes, empty for other words; for srun with dashes, because
    ``-n`` and ``--n`` are different options. ``text`` are the words as they are in the command, ``values``
    those of the option without its name.
    """

    text: list[str]
    option: str = ""
    values: list[str] = []

    @property
    def separates(self) -> bool:
        """Whether another program follows."""
        return not self.option and self.text == [NEXT_PROGRAM]


class Grammar(Struct, frozen=True, kw_only=True):
    """The options of a kind of launcher: how many values each takes, and which give the number of processes.

    Options that are in no list take the next word as their value, unless it is a program or an option.
    ``joins`` are one-letter options whose value may follow without a blank.
    """

    value_counts: Mapping[str, int]
    count_options: frozenset[str]
    joins: frozenset[str] = frozenset()


def _counts(flags: str, values: str, pairs: str = "") -> dict[str, int]:
    return {name: count for count, names in enumerate((flags, values, pairs)) for name in names.split()}


_MPIRUN = Grammar(
    value_counts=_counts(
        # Open MPI: mpirun(1) of versions 4 and 5; hydra: 'mpiexec --help' of MPICH 4 and 5, and Intel MPI
        flags="allow-run-as-root oversubscribe nooversubscribe no-oversubscribe nolocal tag-output"
        " timestamp-output display-map display-devel-map display-allocation display-topo display-diffable-map"
        " report-bindings do-not-launch do-not-resolve q quiet v verbose V version bind-to-core"
        " bind-to-socket bind-to-none bycore bynode byslot bysocket"
        " preload-binary merge-stderr-to-stdout noprefix"
        " enable-recovery disable-recovery continuous report-child-jobs-separately get-stack-traces"
        " report-state-on-timeout tv debug use-hwthread-cpus index-argv-by-rank parsable keep-fqdn-hostnames"
        " enable-instant-on-support nw no-ready-msg rank-by-core"
        " genvall genvnone envall envnone l prepend-rank print-rank-map print-all-exitcodes"
        " enable-x disable-x disable-auto-cleanup disable-hostname-propagation hybrid-hosts profile info"
        " skip-launch-node rr ordered-output check_mpi trace gdb",
        values="n np c H host hosts f hostfile machinefile default-hostfile x bind-to map-by rank-by"
        " ppn perhost N npernode npersocket ppr wdir wd path prefix am tune app rf rankfile"
        " cpu-set cpu-list slot-list output-filename output stdin timeout preload-files"
        " xml-file xterm launch-agent personality max-restarts report-uri report-pid display runtime-options"
        " dvm dvm-uri pset forward-signals mca-base-env-list"
        " launcher launcher-exec rmk topolib membind demux genvlist envlist configfile errfile-pattern"
        " outfile-pattern gpus-per-proc iface localhost nameserver order-nodes pmi-port prepend-pattern usize"
        " rankmap bootstrap bootstrap-exec binding umask tmpdir gtool gtoolfile memory-alloc-kinds arch",
        pairs="mca gmca omca gomca prtemca pmixmca genv env",
    ),
    count_options=frozenset({"n", "np", "c"}),
)

_SRUN = Grammar(
    value_counts=_counts(
        flags="-l --label -u --unbuffered -v --verbose -Q --quiet -O --overcommit -s --oversubscribe"
        " -X --disable-status -Z --no-allocate -E --preserve-env -H --hold -k --no-kill -W0 --pty --overlap"
        " --exact --exclusive --whole --contiguous --spread-job --use-min-nodes --reboot --multi-prog"
        " --slurmd-debug -I --immediate --no-requeue --requeue -K --kill-on-bad-exit",
        values="-n --ntasks -N --nodes -c --cpus-per-task -A --account -p --partition -q --qos -t --time"
        " -J --job-name -w --nodelist -x --exclude -C --constraint -m --distribution -o --output -e --error"
        " -i --input -D --chdir -d --dependency -F --nodefile -G --gpus -L --licenses -M --clusters -r"
        " --relative -T --threads -W --wait -b --begin -B --extra-node-info -S --core-spec -a --array"
        " --mem --mem-per-cpu --mem-per-gpu --mem-bind --cpu-bind --gpu-bind --gpus-per-node --gpus-per-task"
        " --ntasks-per-node --ntasks-per-core --ntasks-per-socket --ntasks-per-gpu --export --export-file"
        " --mpi --propagate --jobid --het-group --hint --gres --tres-per-task --reservation --task-prolog"
        " --task-epilog --prolog --epilog --signal --switches --network --comment --profile --acctg-freq"
        " --open-mode --cores-per-socket --sockets-per-node --threads-per-core --bcast --container"
        " --msg-timeout --deadline --priority --uid --gid --tmp --kill-on-invalid-dep --resv-ports",
    ),
    count_options=frozenset({"-n", "--ntasks"}),
    joins=frozenset("nNcApqtJwxCmoeiDdFGLMrTWbBSaIK"),
)


def is_srun(command: Sequence[str]) -> bool:
    """Whether a command begins with Slurm's launcher."""
    return Path(command[0]).name == "srun"


def is_launcher(command: Sequence[str]) -> bool:
    """Whether a command begins with a launcher that forwards only the variables that its options name."""
    return Path(command[0]).name.startswith(LAUNCHERS)


def launch_words(command: Sequence[str], environ: Mapping[str, str] = os.environ) -> Iterator[Word]:
    """The words of a launch command after its launcher. ``environ`` has the PATH on which programs are."""
    grammar = _SRUN if is_srun(command) else _MPIRUN
    position, in_options = 1, True
    while position < len(command):
        text = command[position]
        is_next = text == NEXT_PROGRAM
        in_options = is_next or (in_options and text.startswith("-") and text != "-")
        if is_next or not in_options:
            word = Word(text=[text])
        elif text == END_OF_OPTIONS:
            word, in_options = Word(text=[text], option=text), False
        else:
            word = _option(command[position:], grammar, environ)
        yield word
        position += len(word.text)


def process_count(command: Sequence[str], environ: Mapping[str, str] = os.environ) -> int | None:
    """The number of processes that a launch command starts, by the options of its launcher or the batch job;
    None if neither says."""
    if not (is_launcher(command) or is_srun(command)):
        return None  # for example a script, which may start anything
    grammar = _SRUN if is_srun(command) else _MPIRUN
    counts: list[str] = [""]
    for word in launch_words(command, environ):
        if word.separates:
            counts.append("")
        elif word.option in grammar.count_options and word.values and not counts[-1]:
            counts[-1] = word.values[0]
    if all(map(_is_number, counts)):
        return sum(map(int, counts))
    tasks = environ.get("SLURM_NTASKS", "")
    return int(tasks) if not any(counts) and _is_number(tasks) else None


def is_count(word: Word, command: Sequence[str]) -> bool:
    """Whether a word of a command is the option for the number of processes."""
    return word.option in (_SRUN if is_srun(command) else _MPIRUN).count_options


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _option(command: Sequence[str], grammar: Grammar, environ: Mapping[str, str]) -> Word:
    """The option at the beginning of some words, with its values."""
    name, is_joined, value = command[0].partition("=")
    if grammar.joins and not name.startswith("--"):
        if (split := _split_joined_option(command[0], grammar)) is not None:
            return split
        name = f"-{command[0][-1]}"  # the last of joined letters may take the next word: -ln 4
    elif is_joined:
        return Word(text=[command[0]], option=_plain(name, grammar), values=[value])
    else:
        name = _plain(command[0], grammar)
    count = grammar.value_counts.get(name)
    if count is None:
        count = _value_count(command[1:], environ)
    elif count == 2 and "=" in (*command[1:], "")[0]:  # hydra's -genv NAME=VALUE
        count = 1
    text = list(command[: 1 + count])
    return Word(text=text, option=name, values=text[1:])


def _plain(name: str, grammar: Grammar) -> str:
    return name if grammar.joins else name.lstrip("-")


def _split_joined_option(text: str, grammar: Grammar) -> Word | None:
    """A short option of srun that is joined with its value, after flags: ``-n4``, ``-ln4``."""
    for position, letter in enumerate(text[1:], 1):
        if letter in grammar.joins:
            value = text[position + 1 :]
            return Word(text=[text], option=f"-{letter}", values=[value]) if value else None
    return None


def _value_count(next_words: Sequence[str], environ: Mapping[str, str]) -> int:
    """The number of values of an unknown option: the next word is its value if it is no program."""
    if not next_words or next_words[0].startswith("-"):
        return 0
    return 0 if shutil.which(next_words[0], path=environ.get("PATH", os.defpath)) is not None else 1
