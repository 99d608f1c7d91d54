#!/usr/bin/env bash
# The whole way on this machine, with the MPI library in .venv: from examples/demo.toml to demo/.
#
# Each command is shown before it runs, as a person would type it. Run again, it goes on where it was stopped.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v cmake >/dev/null || ! command -v cc >/dev/null; then
    echo "The demo builds a small C program: install a C compiler and CMake first (Debian: apt-get install gcc cmake)." >&2
    exit 1
fi

step() {
    printf '\n== %s\n' "$1"
    shift
    printf '$ .venv/bin/offbeat %s\n\n' "$*"
    ".venv/bin/offbeat" "$@"
}

step "1. Does this machine's MPI work?" doctor --mpi .venv
step "2. Measure every algorithm under every arrival pattern" run examples/demo.toml --output demo --mpi .venv
step "3. Which algorithm stays good?" select demo
step "4. Write the tuning file of this MPI library" export demo --mpi .venv
step "5. Launch the library with it: does it obey?" verify demo
step "6. Draw the report" report demo

cat <<END

== Done
The selection:       .venv/bin/offbeat select demo --details
The tuning file:     demo/tuning/ ('offbeat export' above printed how to run an application with it)
The report:          $PWD/demo/report.html (open it in a browser; it needs no network)
Your own study:      .venv/bin/offbeat init, then docs/tutorial.md
END
