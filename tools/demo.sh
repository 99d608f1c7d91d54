#!/usr/bin/env bash
# 1. Simulates a machine of 1,024 cores: from examples/simulated.toml to demo/simulated/.
# 2. Measures on this machine with the MPI library in .venv, from the study to the report: from examples/demo.toml to
#    demo/measured/.
# 3. Traces an application (offbeat-ft), predicts its run time and tries the choices: from examples/application.toml
#    to demo/application/.
# 4. Runs the example program examples/stencil, whose processes exchange faces with partitioned messages.
# 5. Simulates a program on a cluster that becomes faster if its processes run out of step, to demo/out-of-step/.
#
# Each command is shown before it runs, as a person would type it. After an interruption, the same command resumes.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v cmake >/dev/null || ! command -v cc >/dev/null; then
    echo "The demo builds a small C program: install a C compiler and CMake first (Debian: apt-get install gcc cmake)." >&2
    exit 1
fi

unset PYTHONDONTWRITEBYTECODE # every command would compile offbeat's modules again

title() {
    printf '\n== %s\n' "$1"
}

run() {
    printf '$'
    for word; do
        if [[ $word =~ ^[A-Za-z0-9_./:=-]+$ ]]; then printf ' %s' "$word"; else printf " '%s'" "$word"; fi
    done
    printf '\n\n'
    "$@"
}

step() {
    title "$1"
    run .venv/bin/offbeat "${@:2}"
}

simulated=demo/simulated measured=demo/measured application=demo/application

# The native parts are compiled while steps 1 to 3 run, which use one core most of the time. Step 4 waits for them, and
# says what went wrong.
.venv/bin/offbeat doctor --mpi .venv &>/dev/null </dev/null &
trap 'kill "$!" 2>/dev/null || true' EXIT

step "1. Simulate every algorithm under every arrival pattern on 1,024 processes" \
    run examples/simulated.toml --output "$simulated"
step "2. Which algorithm would stay good there?" select "$simulated"
step "3. Draw the report" report "$simulated"
step "4. Does this machine's MPI work?" doctor --mpi .venv
wait "$!" || true
trap - EXIT
step "5. Measure every algorithm under every arrival pattern here" \
    run examples/demo.toml --output "$measured" --mpi .venv
step "6. Which algorithm stays good?" select "$measured"
step "7. Write the tuning file of this MPI library" export "$measured" --mpi .venv
step "8. Launch the library with it: does it obey?" verify "$measured"
step "9. Draw the report" report "$measured"

# The example application was built with the driver and lies beside it. Open MPI refuses to run as root without these variables.
driver=$(.venv/bin/offbeat doctor --mpi .venv | sed -nE 's/^ *driver (.*)$/\1/p')
mpirun=(.venv/bin/mpirun)
[[ $(id -u) != 0 ]] || mpirun+=(--allow-run-as-root)
ft=("${mpirun[@]}" -n 2 "${driver%offbeat-driver}offbeat-ft" --class S --repeat 3 --imbalance "$PWD/$application/injected.txt")
trace=$application/trace results=$application/results
mkdir -p "$application"
.venv/bin/offbeat pattern make last_delayed --p 2 --skew "2 ms" --output "$application/injected.txt"
cp examples/application.toml "$application/study.toml"

[[ -d $trace ]] || step "10. Trace an application whose second process is late" \
    trace run --output "$trace" -- "${ft[@]}"
step "11. Where does its time go, and what to tune first?" trace summary "$trace" --pictures "$application/pictures"
step "12. How do its processes arrive, on average" \
    trace pattern "$trace" --collective alltoall --output "$application/alltoall-mean.txt"
step "13. ... and call by call?" \
    trace pattern "$trace" --collective alltoall --what calls --output "$application/alltoall-calls.replay"
step "14. Measure every algorithm under just that" \
    run "$application/study.toml" --output "$results" --mpi .venv
step "15. How long would the application take with each?" \
    predict "$trace" "$results" --ran default --pictures "$application/pictures"
step "16. And how long does it take?" \
    try --results "$results" --trace "$trace" --output "$application/try" --pictures "$application/pictures" \
    --rounds 3 --time 'processes.*: ([0-9.]+) s' -- "${ft[@]}"

# offbeat-partitioned was installed beside the driver, too.
title "17. Threads finish at different times: what does a program gain that sends parts of a message when they are ready?"
cmake -S examples/stencil -B demo/stencil -DCMAKE_PREFIX_PATH="${driver%/bin/offbeat-driver}" >demo/stencil.log && cmake --build demo/stencil >>demo/stencil.log
run env OMP_NUM_THREADS=2 "${mpirun[@]}" -n 2 demo/stencil/stencil --grid 2x1024x1024 --sleep 5000 --iterations 10

step "18. Does a memory-bound program become faster if its 360 processes run out of step?" \
    async advise mst --platform fritz --iterations 400
step "19. Draw it" reproduce async-figure 2 --iterations 2000 --output demo/out-of-step

cat <<END

== Done
The selections:      .venv/bin/offbeat select $simulated --details, and the same with $measured
The tuning file:     $measured/tuning/ ('offbeat export' above printed how to run an application with it)
The reports:         $PWD/$simulated/report.html and $PWD/$measured/report.html
                     (open them in a browser; they need no network)
The application:     pictures in $application/pictures/, tuning files in $application/try/tuning/
The paper's maps:    .venv/bin/offbeat reproduce figure4
Parts of messages:   docs/howto/partitioned.md, examples/stencil/
Out of step:         demo/out-of-step/pictures/, docs/howto/async.md
Your own study:      .venv/bin/offbeat init, then docs/tutorial.md
END
