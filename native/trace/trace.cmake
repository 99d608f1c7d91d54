# liboffbeat-trace.so: put in front of the MPI library by LD_PRELOAD, it has every collective of a program written down.
#
# It is no more than the front, which depends on no MPI library. Behind it, loaded by processes that use the MPI library
# of this build: liboffbeat-tracer.so, whose wrappers come from trace/table.h. The shared clock is inside of that, where
# nobody sees it.
include(trace/mpi_library.cmake)
# Whatever the rest of the build is for: this runs inside of other people's programs, around each of their calls.
set(trace_options -O2)
add_library(trace SHARED trace/behind.c trace/front.c trace/lacking.c trace/own_lane.c
    trace/programs_code.c)
target_compile_options(trace PRIVATE ${trace_options})
target_compile_definitions(trace PRIVATE "OFFBEAT_TRACE_MPI=\"${trace_mpi_library}\"")
target_link_libraries(trace PRIVATE ${CMAKE_DL_LIBS})
target_link_options(trace PRIVATE "-Wl,--version-script=${trace_exported}" -Wl,--no-undefined)
# Its path says which file an MPI library's name stands for: the same as that of the tracer.
set(trace_path INSTALL_RPATH "$ORIGIN;${CMAKE_INSTALL_RPATH}" BUILD_RPATH "$ORIGIN")
set_target_properties(trace PROPERTIES OUTPUT_NAME offbeat-trace ${trace_path})
set_property(TARGET trace APPEND PROPERTY LINK_DEPENDS ${trace_exported})

set(trace_without_mpi trace/define.c trace/file.c trace/functions.c trace/lane.c trace/stamp.c
    trace/wishes.c)
add_library(tracer SHARED
    trace/call.c
    trace/call_path.c
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
    trace/python_frames.c
    trace/requests.c
    trace/times.c
    ${trace_without_mpi})
target_compile_options(tracer PRIVATE ${trace_options})
target_compile_definitions(tracer PRIVATE _POSIX_C_SOURCE=200809L) # clock_gettime in a header
target_link_libraries(tracer PRIVATE trace harmonize Threads::Threads ${CMAKE_DL_LIBS} m)
set(trace_wrappers ${CMAKE_CURRENT_SOURCE_DIR}/trace/wrappers.map)
target_link_options(tracer PRIVATE "-Wl,--version-script=${trace_wrappers}" -Wl,--no-undefined)
set_target_properties(tracer PROPERTIES OUTPUT_NAME offbeat-tracer ${trace_path})
set_property(TARGET tracer APPEND PROPERTY LINK_DEPENDS ${trace_wrappers})
install(TARGETS trace tracer LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

if(OFFBEAT_BUILD_TESTING)
    foreach(subject IN ITEMS file stamp wishes)
        add_executable(trace_${subject}_test trace/${subject}_test.c trace/own_lane.c ${trace_without_mpi})
        target_link_libraries(trace_${subject}_test PRIVATE Threads::Threads m)
        offbeat_test(trace_${subject}_test 0)
    endforeach()
endif()
