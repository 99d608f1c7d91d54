"""The Spack recipe of offbeat, for Spack 1.0 and later; docs/howto/install.md says how to use it.

A test compares it with pyproject.toml: the same versions, dependencies and lower bounds.
"""

from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class Offbeat(PythonPackage):
    """Tune MPI collectives for processes that do not arrive together."""

    license("BSD-3-Clause")

    # Built from a checkout that 'spack develop' names: there is no address to download it from.
    version("0.1.0")

    variant("mpi4py", default=False, description="Simulate studies on several nodes with mpi4py")
    variant("dask", default=False, description="Simulate studies on several nodes with Dask")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("ninja", type="build")
    # No MPI library: offbeat tunes the one that is loaded when it runs. It then compiles its C parts for this
    # library, with the C compiler of the machine.
    depends_on("cmake@3.20:", type=("build", "run"))
    depends_on("gmake", type="run")

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-scikit-build-core+pyproject@0.11:", type="build")
    depends_on("py-nanobind@2.2:", type="build")

    with default_args(type=("build", "run")):
        depends_on("py-typer@0.12:")
        depends_on("py-rich@13:")
        depends_on("py-msgspec@0.18:")
        depends_on("py-tomlkit@0.12:")
        depends_on("py-numpy@1.26:")
        depends_on("py-scipy@1.11:")
        depends_on("py-polars@1.32:")
        depends_on("py-psutil@5.9:")
        depends_on("py-matplotlib@3.8:")
        depends_on("py-jinja2@3.1:")
        depends_on("py-pyelftools@0.30:")
        depends_on("py-mpi4py@4.0:", when="+mpi4py")
        depends_on("py-distributed@2024.1:", when="+dask")
