#!/bin/bash
#SBATCH --job-name=nightly-tuning
#SBATCH --ntasks=100
#SBATCH --exclusive
#SBATCH --time=01:00:00
#SBATCH --output=%x-%j.log

# Measures an offbeat study on up to 100 processes, with the nodes to itself.
# Nothing is loaded automatically: add the commands that make MPI and offbeat available, such as
#   module load openmpi
#   source ~/offbeat/bin/activate

if ! command -v offbeat > /dev/null; then
    echo 'offbeat is not on the PATH of this job: activate it in the job script' >&2
    exit 2
fi

# Stops 5 minutes before the time limit; what was measured by then is kept, and the job ends with status 0.
# Submit this script again to resume: nothing is measured twice.
cd '/home/ada/my studies' || exit 2
offbeat run study.toml --stop-before-limit 5 --stopped-status 0
