#!/usr/bin/env bash
# 1. Simulates a machine of 1,024 cores: from examples/simulated.toml to demo/simulated/.
# 2. Measures on this machine with the MPI library in .venv, from the study to the report: from examples/demo.toml to
#    demo/measured/.
# 3. Traces an application (offbeat-ft), predicts its run time and tries the choices: from examples/application.toml
#    to demo/application/.
# 4. Runs the example program examples/stencil, whose processes exchange faces with partitioned messages.
# 5. Simulates a program on a cluster that becomes faster if its processes run out of step, to demo/out-of-step/.
#
# A step prints its title and the line of its output that holds the answer. The complete output, below the command as a
# person would type it, is in demo/outputs/. After an interruption, the same command resumes.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v cmake >/dev/null || ! command -v cc >/dev/null; then
    echo "The demo builds a small C program: install a C compiler and CMake first (Debian: apt-get install gcc cmake)." >&2
    exit 1
fi

unset PYTHONDONTWRITEBYTECODE # every command would compile offbeat's modules again
export COLUMNS=250 # of the files: one line for each sentence, one table for each selection

simulated=demo/simulated measured=demo/measured application=demo/application outputs=demo/outputs
steps=15 number=0
mkdir -p "$outputs" "$application"

# run TITLE ANSWER COMMAND...: the answer is the last line of the output that matches this extended regular expression.
# A progress bar is only drawn on a terminal; without one, the file has the lines of progress, too.
run() {
    local title=$1 answer=$2 name status=0 line
    shift 2
    number=$((number + 1))
    name=$(printf '%s/%02d.txt' "$outputs" "$number")
    printf '%2d/%d %s\n' "$number" "$steps" "$title"
    {
        printf '$'
        for word; do
            if [[ $word =~ ^[A-Za-z0-9_./:=-]+$ ]]; then printf ' %s' "$word"; else printf " '%s'" "$word"; fi
        done
        printf '\n\n'
    } >"$name"
    if [[ -t 2 ]]; then
        "$@" >>"$name" || status=$?
    else
        "$@" >>"$name" 2>&1 || status=$?
    fi
    if ((status)); then
        tail -n 15 "$name" >&2
        echo "The command above failed with exit status $status; its complete output is in $name." >&2
        exit 1
    fi
    line=$(tail -n +2 "$name" | grep -E -- "$answer" | tail -n 1 || true)
    fold -s -w 92 <<<"${line:-The output is in $name.}" | sed 's/^/      /'
}

step() {
    run "$1" "$2" .venv/bin/offbeat "${@:3}"
}

echo "Complete outputs: demo/outputs/01.txt to $steps.txt"

# The native parts are compiled while steps 1 and 2 run, which use one core most of the time. Step 3 waits for them, and
# says what went wrong.
.venv/bin/offbeat doctor --mpi .venv &>/dev/null </dev/null &
trap 'kill "$!" 2>/dev/null || true' EXIT

step "Simulate every algorithm under every arrival pattern on 1,024 processes" "cases done" \
    run examples/simulated.toml --output "$simulated"
step "Which algorithm stays fast there? (and the report)" " configurations? (the algorithm|has) " select "$simulated"
.venv/bin/offbeat report "$simulated" &>"$outputs/report-simulated.txt"
step "Does this machine's MPI library work?" "checks passed|problem" doctor --mpi .venv
wait "$!" || true
trap - EXIT
step "Measure every algorithm under every arrival pattern here" "cases done" \
    run examples/demo.toml --output "$measured" --mpi .venv
step "Which algorithm stays fast here? (and the report)" " configurations? (the algorithm|has) " select "$measured"
.venv/bin/offbeat report "$measured" &>"$outputs/report-measured.txt"
step "Write the tuning file of this MPI library" "rules? for" export "$measured" --mpi .venv
step "Launch the library with the tuning file: does the library obey?" "rules verified" verify "$measured"

# The example application was built with the driver and lies beside it. Open MPI refuses to run as root without these variables.
driver=$(.venv/bin/offbeat doctor --mpi .venv | sed -nE 's/^ *driver (.*)$/\1/p')
mpirun=(.venv/bin/mpirun)
[[ $(id -u) != 0 ]] || mpirun+=(--allow-run-as-root)
ft=("${mpirun[@]}" -n 2 "${driver%offbeat-driver}offbeat-ft" --class S --repeat 3 --imbalance "$PWD/$application/injected.txt")
trace=$application/trace results=$application/results
.venv/bin/offbeat pattern make last_delayed --p 2 --skew "2 ms" --output "$application/injected.txt"
cp examples/application.toml "$application/study.toml"

if [[ -d $trace ]]; then
    number=$((number + 1))
else
    step "Trace an application whose second process is 2 ms late" "Class S" trace run --output "$trace" -- "${ft[@]}"
fi
step "Where does the time of the application go?" "^Tune" \
    trace summary "$trace" --pictures "$application/pictures"
.venv/bin/offbeat trace pattern "$trace" --collective alltoall --output "$application/alltoall-mean.txt" &>"$outputs/pattern.txt"
.venv/bin/offbeat trace pattern "$trace" --collective alltoall --what calls --output "$application/alltoall-calls.replay" &>"$outputs/replay.txt"
step "Measure every algorithm under the recorded arrivals" "cases done" \
    run "$application/study.toml" --output "$results" --mpi .venv
step "How long would the application take with each algorithm?" "^Expected fastest" \
    predict "$trace" "$results" --ran default --pictures "$application/pictures"
step "How long does the application take?" "faster|slower|difference" \
    try --results "$results" --trace "$trace" --output "$application/try" --pictures "$application/pictures" \
    --rounds 3 --time 'processes.*: ([0-9.]+) s' -- "${ft[@]}"

# offbeat-partitioned was installed beside the driver, too.
cmake -S examples/stencil -B demo/stencil -DCMAKE_PREFIX_PATH="${driver%/bin/offbeat-driver}" >demo/stencil.log
cmake --build demo/stencil >>demo/stencil.log
run "What does a program gain that sends parts of a message when they are ready?" "^offbeat " \
    env OMP_NUM_THREADS=2 "${mpirun[@]}" -n 2 demo/stencil/stencil --grid 2x1024x1024 --sleep 5000 --iterations 10
step "Does a memory-bound program become faster if its 360 processes run out of step?" "[Hh]elps|faster" \
    async advise mst --platform fritz --iterations 400
step "Draw its speed" "holds|pictures?" reproduce async-figure 2 --iterations 2000 --output demo/out-of-step

.venv/bin/python tools/demo_page.py
