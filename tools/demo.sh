#!/usr/bin/env bash
# First a simulated machine of 1,024 cores: examples/simulated.toml to demo/simulated/. Then the whole way on this
# machine, with the MPI library in .venv: examples/demo.toml to demo/measured/.
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

simulated=demo/simulated measured=demo/measured

step "1. Simulate every algorithm under every arrival pattern on 1,024 processes" \
    run examples/simulated.toml --output "$simulated"
step "2. Which algorithm would stay good there?" select "$simulated"
step "3. Draw the report" report "$simulated"
step "4. Does this machine's MPI work?" doctor --mpi .venv
step "5. Measure every algorithm under every arrival pattern here" \
    run examples/demo.toml --output "$measured" --mpi .venv
step "6. Which algorithm stays good?" select "$measured"
step "7. Write the tuning file of this MPI library" export "$measured" --mpi .venv
step "8. Launch the library with it: does it obey?" verify "$measured"
step "9. Draw the report" report "$measured"

cat <<END

== Done
The selections:      .venv/bin/offbeat select $simulated --details, and the same with $measured
The tuning file:     $measured/tuning/ ('offbeat export' above printed how to run an application with it)
The reports:         $PWD/$simulated/report.html and $PWD/$measured/report.html
                     (open them in a browser; they need no network)
The paper's maps:    .venv/bin/offbeat reproduce figure4
Your own study:      .venv/bin/offbeat init, then docs/tutorial.md
END
