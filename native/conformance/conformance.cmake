# The cases that check partitioned communication: a program for offbeat's own library, and one for the functions of
# the MPI library if it has them. Open MPI 5 has them and states version 3.1 of MPI: the compiler knows.
include(CheckCSourceCompiles)
set(conformance_sources
    conformance/arrival.c
    conformance/communicators.c
    conformance/completion.c
    conformance/counts.c
    conformance/datatypes.c
    conformance/iterations.c
    conformance/main.c
    conformance/matching.c
    conformance/message.c
    conformance/misuse.c
    conformance/progress.c
    conformance/threads.c
    conformance/verdict.c)

add_executable(offbeat-conformance-offbeat ${conformance_sources})
target_compile_definitions(offbeat-conformance-offbeat PRIVATE CONFORMANCE_OF_OFFBEAT)
target_link_libraries(offbeat-conformance-offbeat PRIVATE partitioned Threads::Threads)
install(TARGETS offbeat-conformance-offbeat RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # mpi.h decides; nothing needs to be linked
set(CMAKE_REQUIRED_INCLUDES ${OFFBEAT_MPI_INCLUDE} ${MPI_C_INCLUDE_DIRS})
set(CMAKE_REQUIRED_FLAGS -Werror=implicit-function-declaration)
check_c_source_compiles("
    #include <mpi.h>
    int arrived(MPI_Request request) { int flag; return MPI_Parrived(request, 0, &flag) + flag; }
    int main(void) { return 0; }" OFFBEAT_MPI_HAS_PARTITIONED)
unset(CMAKE_TRY_COMPILE_TARGET_TYPE)
unset(CMAKE_REQUIRED_INCLUDES)
unset(CMAKE_REQUIRED_FLAGS)
if(OFFBEAT_MPI_HAS_PARTITIONED)
    add_executable(offbeat-conformance-library ${conformance_sources})
    target_link_libraries(offbeat-conformance-library PRIVATE offbeat_mpi Threads::Threads)
    install(TARGETS offbeat-conformance-library RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# The cases with an implementation that has defects, which tests/conformance builds.
add_executable(conformance-defects EXCLUDE_FROM_ALL ${conformance_sources} conformance/defects.c)
target_compile_definitions(conformance-defects PRIVATE CONFORMANCE_OF_DEFECTS)
target_link_libraries(conformance-defects PRIVATE partitioned Threads::Threads)

# The files of cases share the names of static functions.
foreach(program IN ITEMS offbeat-conformance-offbeat offbeat-conformance-library conformance-defects)
    if(TARGET ${program})
        set_target_properties(${program} PROPERTIES UNITY_BUILD OFF)
    endif()
endforeach()
