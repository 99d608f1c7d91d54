"""A made-up MPI library with a tuning format: what its record alone has to say for offbeat to support it."""

from __future__ import annotations

from pathlib import Path

from offbeat.libraries.families.library import Library
from offbeat.libraries.families.openmpi import OpenMpiSteering
from offbeat.libraries.installations.installation import Installation
from offbeat.selection.tuning_files.manifest import TuningFiles, write_file
from offbeat.selection.tuning_files.tuning_plan import TuningPlan

DUMMY = Library(
    family="dummy",
    title="Dummy MPI",
    wheel="dummy-mpi",
    version_pattern=r"Dummy MPI (?P<short>[\d.]+)",
    launcher_pattern=r"dummyrun (?P<short>[\d.]+)",
    header_version=lambda macros: macros.get("DUMMY_VERSION"),
    module_pattern="dummy",
    srun_plugin="pmi2",
    arguments=lambda placement, environment: [
        "--ranks",
        str(placement.p),
        *map("=".join, environment.items()),
    ],
    environment=lambda installation, placement, inherited: {"DUMMY_HOME": str(installation.prefix)},
    steering_environment={"DUMMY_OBEYS": "1"},
    forwarding_options=lambda environment: [f"--pass={name}" for name in environment],
    names_functions=lambda library: True,
    steering=OpenMpiSteering,
    setting_prefixes=("DUMMY_",),
    collective_variables=lambda algorithm: (f"DUMMY_{algorithm.collective.upper()}_",),
    is_limited_to_measured_p=lambda algorithm: algorithm.name == "pairs",
    guarded_calls=("noncommutative",),
)


def write(plan: TuningPlan, installation: Installation | None, directory: Path) -> TuningFiles:
    """A line for each rule."""
    rules = [rule for own in plan.rules.values() for rule in own]
    lines = [f"{rule.collective} {rule.bytes_low} {rule.bytes_high} {rule.settings}" for rule in rules]
    file = write_file(directory, "dummy.rules", "\n".join(lines) + "\n")
    environment = {"DUMMY_RULES": str(file)}
    return TuningFiles(
        files=[file], environment=environment, launch_options=[], usage=[], notes=[], rules=rules
    )
