#!/bin/bash
#PBS -N nightly-tuning
#PBS -l select=100:ncpus=1:mpiprocs=1
#PBS -l place=free:excl
#PBS -l walltime=01:00:00
#PBS -j oe

# Measures an offbeat study on up to 100 processes, with the nodes to itself.
# Nothing is loaded automatically: add the commands that make MPI and offbeat available, such as
#   module load openmpi
#   source ~/offbeat/bin/activate

if ! command -v offbeat > /dev/null; then
    echo 'offbeat is not on the PATH of this job: activate it in the job script' >&2
    exit 2
fi

# End of the time limit, which PBS does not provide: change the seconds together with walltime.
export OFFBEAT_JOB_END=$(($(date +%s) + 3600))

# Stops 5 minutes before the time limit; what was measured by then is kept, and the job ends with status 0.
# Submit this script again to resume: nothing is measured twice.
cd '/home/ada/my studies' || exit 2
offbeat run study.toml --stop-before-limit 5 --stopped-status 0
