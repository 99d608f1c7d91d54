# liboffbeat-trace.so: put in front of the MPI library by LD_PRELOAD, it writes down every collective of a program.
#
# The shared clock is inside, where nobody sees it. Its wrappers come from trace/table.h.
set(trace_without_mpi trace/define.c trace/file.c trace/functions.c trace/lane.c trace/stamp.c
    trace/wishes.c)
add_library(trace SHARED
    trace/call.c
    trace/collectives_c.c
    trace/collectives_fortran.c
    trace/communicators.c
    trace/completion.c
    trace/completion_c.c
    trace/completion_fortran.c
    trace/constructors.c
    trace/constructors_c.c
    trace/constructors_fortran.c
    trace/describe.c
    trace/entry.c
    trace/fortran.c
    trace/handles.c
    trace/mappings.c
    trace/members.c
    trace/next.c
    trace/process.c
    trace/requests.c
    trace/times.c
    ${trace_without_mpi})
# Whatever the rest of the build is for: this runs inside of other people's programs, around each of their calls.
target_compile_options(trace PRIVATE -O2)
target_compile_definitions(trace PRIVATE _POSIX_C_SOURCE=200809L) # clock_gettime in a header
target_link_libraries(trace PRIVATE harmonize Threads::Threads ${CMAKE_DL_LIBS} m)
include(trace/exported.cmake)
target_link_options(trace PRIVATE "-Wl,--version-script=${trace_exported}" -Wl,--no-undefined)
set_target_properties(trace PROPERTIES
    OUTPUT_NAME offbeat-trace INSTALL_RPATH "$ORIGIN;${CMAKE_INSTALL_RPATH}")
set_property(TARGET trace APPEND PROPERTY LINK_DEPENDS ${trace_exported})
install(TARGETS trace LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

if(OFFBEAT_BUILD_TESTING)
    foreach(subject IN ITEMS file stamp wishes)
        add_executable(trace_${subject}_test trace/${subject}_test.c ${trace_without_mpi})
        target_link_libraries(trace_${subject}_test PRIVATE Threads::Threads m)
        offbeat_test(trace_${subject}_test 0)
    endforeach()
endif()
