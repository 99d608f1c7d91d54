"""The environment of a launch: inherited without what an enclosing launch left, and forwarded to all
processes.

When offbeat itself runs below an ``mpirun`` or ``srun`` (in a job step, a container's entry point, a test),
its environment tells every MPI program that it is a rank of that launch. Open MPI then refuses to start;
others misread their rank. Settings that people make (``OMPI_MCA_btl``, ``I_MPI_FABRICS``, ``MPIR_CVAR_...``)
are kept.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from offbeat.libraries.installations.installation import Installation

_SET_BY_LAUNCHES = (
    # Open MPI 4 (orterun) and 5 (prterun)
    "OMPI_COMM_WORLD_",
    "OMPI_WORLD_",
    "OMPI_UNIVERSE_SIZE",
    "OMPI_APP_CTX_",
    "OMPI_NUM_APP_CTX",
    "OMPI_FIRST_RANKS",
    "OMPI_FILE_LOCATION",
    "OMPI_COMMAND",
    "OMPI_ARGV",
    "OMPI_TOOL_NAME",
    "OMPI_VERSION",
    "OMPI_LIBDIR_LOC",
    "OMPI_PARENT_",
    "OMPI_MCA_PREFIXES",
    "OMPI_MCA_ess",
    "OMPI_MCA_pmix",
    "OMPI_MCA_initial_wdir",
    "OMPI_MCA_mpi_oversubscribe",
    "OMPI_MCA_shmem_RUNTIME_QUERY_hint",
    "OMPI_MCA_cpu_type",
    "OMPI_MCA_num_procs",
    "OMPI_MCA_orte_app_num",
    "OMPI_MCA_orte_bound_at_launch",
    "OMPI_MCA_orte_ess_",
    "OMPI_MCA_orte_hnp_uri",
    "OMPI_MCA_orte_jobfam_session_dir",
    "OMPI_MCA_orte_launch",
    "OMPI_MCA_orte_local_daemon_uri",
    "OMPI_MCA_orte_num_nodes",
    "OMPI_MCA_orte_parent_uri",
    "OMPI_MCA_orte_precondition_transports",
    "OMPI_MCA_orte_tmpdir_base",
    "OMPI_MCA_orte_top_session_dir",
    "OPAL_USER_PARAMS_GIVEN",
    "PRTE_LAUNCHED",
    "PRTE_SHARED_FS",
    "PMIX_",
    # MPICH and Intel MPI (hydra), Slurm's PMI
    "PMI_",
    "PMI2_",
    "HYDI_",
    "HYDRA_BSTRAP_",
    "HYDRA_LAUNCH_TYPE",
    "HYDRA_IP_VERSION",
    "MPI_LOCALNRANKS",
    "MPI_LOCALRANKID",
    "MPIR_CVAR_CH3_INTERFACE_HOSTNAME",
    "I_MPI_INFO_",
    "I_MPI_PIN_INFO",
    "I_MPI_PIN_MAPPING",
    "I_MPI_HYDRA_UUID",
    "I_MPI_HYDRA_TOPOLIB",
    "I_MPI_MPIRUN",
    "I_MPI_INTERNAL_",
)
_KEPT_PREFIXES = ("PMIX_MCA_",)
_PREFIXES_OF_OPENMPI = ("OPAL_PREFIX", "PMIX_PREFIX", "PRTE_PREFIX")


def clean_environment(environ: Mapping[str, str], installation: Installation) -> dict[str, str]:
    """A copy of an environment without the variables of an enclosing launch.

    HOME is always set: without it (below some job starters, in containers) Open MPI 5 does not start.
    """
    try:
        home = str(Path.home())
    except RuntimeError:  # the user has no entry in the password database, as in some containers
        home = tempfile.gettempdir()
    return {"HOME": home} | {
        name: value for name, value in environ.items() if not _is_stale(name, value, installation)
    }


def _is_stale(name: str, value: str, installation: Installation) -> bool:
    """Whether a variable belongs to an enclosing launch, or to another installation of Open MPI."""
    if name in _PREFIXES_OF_OPENMPI:
        return Path(value).resolve() != installation.prefix.resolve()
    return name.startswith(_SET_BY_LAUNCHES) and not name.startswith(_KEPT_PREFIXES)
