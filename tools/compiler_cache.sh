# To be sourced in the checkout's folder: what is compiled twice is taken from a cache, if ccache is installed. Several tests
# compile the same C sources for the same MPI library, and the simulator is compiled once for the checkout and once for the
# wheel that is tested. BASEDIR and NOHASHDIR let sources of equal text in other folders count as the same.
export OFFBEAT_TEST_CACHE=${OFFBEAT_TEST_CACHE:-$PWD/build/test-cache}
if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
    export CCACHE_DIR=$OFFBEAT_TEST_CACHE/ccache CCACHE_BASEDIR=/ CCACHE_NOHASHDIR=1
fi
