#!/usr/bin/env bash
# Usage: tools/test_debian.sh SUITE [WORD...]     for example: tools/test_debian.sh trixie tests/trace -k fortran
#
# Runs tests of this checkout in another release of Debian, with its compilers, its Python and its MPI libraries: Debian's
# have Fortran, and the wheels of the newer versions don't. The words go to pytest; without any, it runs the tests of
# what programs in C, C++ and Fortran link to or are preloaded with.
#
# The release is put into build/debian-SUITE by debootstrap, once (remove the folder to have it anew), and the checkout
# is copied into it each time. All mounts are in a namespace of this command's own, so that they are gone with it, and
# with them every process that it left behind. OFFBEAT_APT=yes also installs what only some tests need: SimGrid, a
# browser, applications. OFFBEAT_DEBIAN_MIRROR names where Debian is, if not where this machine's apt has it from.
set -euo pipefail
cd "$(dirname "$0")/.."

suite=${1-}
kept=$PWD/build/debian-$suite root=$PWD/build/debian-$suite/root
language_tests=(tests/trace/test_tracer_calls.py tests/trace/test_tracer_communicators.py
    tests/mpi/test_harmonize_installed.py tests/mpi/test_harmonize_preload.py)
packages=(ca-certificates python3 python3-dev python3-venv make cmake git gcc g++ gfortran pkg-config valgrind
    openmpi-bin libopenmpi-dev mpich libmpich-dev)

stop() {
    printf '%s\n' "$@" >&2
    exit 2
}

check() {
    [[ $suite =~ ^[a-z][a-z-]*$ ]] ||
        stop "Name a suite of Debian, as in: tools/test_debian.sh trixie [WORD-FOR-PYTEST...]"
    [[ $(id -u) == 0 ]] || stop "Only root can make another Debian and go into it: sudo tools/test_debian.sh $*"
    command -v debootstrap >/dev/null ||
        stop "There is no debootstrap, which makes another Debian: apt-get install debootstrap"
}

# Where this machine's apt has Debian from.
mirror() {
    # shellcheck disable=SC2016 # the fields are apt's
    apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | awk '$1 == "Debian" {print $2; exit}'
}

# A release that is newer than this machine's debootstrap is made as its newest is.
make_debian() {
    local recipe=() mirror=${OFFBEAT_DEBIAN_MIRROR:-$(mirror)}
    [[ -n $mirror ]] ||
        stop "apt has no Debian here (or no lists yet: apt-get update): name a mirror in OFFBEAT_DEBIAN_MIRROR."
    [[ -e /usr/share/debootstrap/scripts/$suite ]] || recipe=(sid)
    echo "Making Debian $suite in $kept, which takes some minutes"
    rm -rf "$kept"
    mkdir -p "$kept"
    debootstrap --variant=minbase "$suite" "$root" "$mirror" "${recipe[@]}" >"$kept/log" 2>&1 </dev/null || {
        tail -n 5 "$kept/log" >&2
        stop "debootstrap could not make Debian $suite (the whole log: $kept/log)."
    }
    touch "$kept/made"
}

# How this machine reaches Debian holds in there, too: names, proxies.
hand_on_network() {
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
    apt-config dump --no-empty --format '%f "%v";%n' Acquire >"$root/etc/apt/apt.conf.d/90of-the-machine"
}

# And how it reaches PyPI. A package that is installed in there writes its own certificates: ours come behind it.
hand_on_trust() {
    local file
    for file in /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
        [[ ! -f $file ]] || cp "$file" "$root$file"
    done
}

# The checkout as it is now, with the environment and the builds of the time before. Folders keep their times, too:
# make goes by them.
copy_checkout() {
    local new=$root/offbeat.new folder
    rm -rf "$new"
    mkdir -p "$new" "$root/offbeat"
    git ls-files -z --cached --others --exclude-standard | while IFS= read -rd '' file; do
        [[ ! -e $file ]] || printf '%s\0%s\0' "$(dirname "$file")" "$file"
    done | sort --zero-terminated --unique | tar --create --no-recursion --null --files-from=- |
        tar --extract --no-same-owner --directory "$new"
    for folder in .venv build; do
        [[ ! -e $root/offbeat/$folder ]] || mv "$root/offbeat/$folder" "$new/"
    done
    rm -rf "$root/offbeat"
    mv "$new" "$root/offbeat"
}

inside() {
    chroot "$root" env -u VIRTUAL_ENV -u TMPDIR -u PYTHONPATH -u OFFBEAT_TEST_CACHE HOME=/root LC_ALL=C.UTF-8 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin OFFBEAT_APT="${OFFBEAT_APT:-no}" "$@"
}

check "$@"
if (($$ != 1)); then # not yet the first process of a namespace
    exec unshare --mount --propagation private --pid --fork --kill-child "$PWD/tools/test_debian.sh" "$@"
fi
shift
mkdir -p build
exec 9>"$kept.lock"
flock --nonblock 9 || stop "Debian $suite is at work already: wait for the other tools/test_debian.sh."
[[ -f $kept/made ]] || make_debian
hand_on_network
copy_checkout
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
OFFBEAT_APT=yes inside /offbeat/tools/debian_packages.sh "${packages[@]}"
hand_on_trust
inside make --directory /offbeat .venv/installed-develop
(($#)) || set -- "${language_tests[@]}"
inside /offbeat/tools/test.sh "$@"
