# liboffbeat-trace.so: the preload library. LD_PRELOAD puts it before the MPI library of a program, and every collective
# of the program is recorded; if requested, every point-to-point call as well. The wrappers also inject delays (inject/).
#
# It consists of trampolines and depends on no MPI library. In processes that use the MPI library of this build it loads
# liboffbeat-tracer.so, whose wrappers are generated from trace/wrapped_functions.h and collectives/collectives.def. The
# shared clock is part of that library and is not exported.

# --- the MPI library ---
#
# ${trace_mpi_library}: the name by which programs load it, or else its file name; empty where there is none (with
# compilers that need no options for MPI).
#
# ${trace_hidden}: functions that the MPI library does not have. The preload library must not export them: programs test
# whether their library has a function (mpi4py does, for those with large counts). Empty if the symbols cannot be read.
set(trace_hidden "")
set(trace_library_symbols "")
set(trace_mpi_library "")
foreach(library IN LISTS OFFBEAT_MPI_LIBRARY MPI_C_LIBRARIES)
    if(EXISTS "${library}" AND CMAKE_NM)
        execute_process(COMMAND ${CMAKE_NM} -D --defined-only ${library} OUTPUT_VARIABLE symbols ERROR_QUIET)
        string(APPEND trace_library_symbols "${symbols}\n")
        if(symbols MATCHES " PMPI_Init[@\n]")
            execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${library} OUTPUT_VARIABLE headers ERROR_QUIET)
            if(headers MATCHES "SONAME +([^ \n]+)")
                set(trace_mpi_library ${CMAKE_MATCH_1})
            endif()
        endif()
    endif()
endforeach()
if(trace_library_symbols MATCHES " MPI_Allreduce[@\n]")
    set(trace_names "")
    set(trace_collectives ${CMAKE_CURRENT_SOURCE_DIR}/collectives/collectives.def)
    set(trace_table ${CMAKE_CURRENT_SOURCE_DIR}/trace/wrapped_functions.h)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${trace_collectives} ${trace_table})
    file(STRINGS ${trace_collectives} rows REGEX "^OFFBEAT_[A-Z_]*COLLECTIVE\\(")
    foreach(row IN LISTS rows)
        string(REGEX MATCH "\\(([A-Za-z_]+), ([a-z_]+)," matched "${row}")
        set(blocking MPI_${CMAKE_MATCH_1})
        set(nonblocking MPI_I${CMAKE_MATCH_2})
        list(APPEND trace_names
            ${blocking}_c ${nonblocking} ${nonblocking}_c ${blocking}_init ${blocking}_init_c)
    endforeach()
    file(STRINGS ${trace_table} rows REGEX "^OFFBEAT_[A-Z_]*CONSTRUCTOR\\(")
    foreach(row IN LISTS rows)
        string(REGEX MATCH "\\(([A-Za-z_]+)," matched "${row}")
        list(APPEND trace_names MPI_${CMAKE_MATCH_1})
    endforeach()
    file(STRINGS ${trace_table} rows REGEX "^OFFBEAT_(MESSAGE|PROBE)_FUNCTION\\(")
    foreach(row IN LISTS rows)
        string(REGEX MATCH "\\(([A-Za-z_]+)," matched "${row}")
        set(name MPI_${CMAKE_MATCH_1})
        list(APPEND trace_names ${name})
        if(row MATCHES "^OFFBEAT_MESSAGE")
            list(APPEND trace_names ${name}_c)
        endif()
    endforeach()
    list(APPEND trace_names MPI_Session_init MPI_Session_finalize)
    foreach(name IN LISTS trace_names)
        if(NOT trace_library_symbols MATCHES " ${name}[@\n]")
            string(APPEND trace_hidden "    ${name};\n    P${name};\n")
        endif()
    endforeach()
endif()
if(NOT trace_mpi_library AND OFFBEAT_MPI_LIBRARY)
    get_filename_component(trace_mpi_library "${OFFBEAT_MPI_LIBRARY}" NAME)
endif()

# trace_library(target output_name global local source...): a library that exports the given symbols only.
function(trace_library target output_name global local)
    set(map ${CMAKE_CURRENT_BINARY_DIR}/${output_name}.map)
    file(CONFIGURE OUTPUT ${map} CONTENT "{\nglobal:\n${global}local:\n${local}    *;\n};\n" @ONLY)
    add_library(${target} SHARED ${ARGN})
    # Optimised in every kind of build: the libraries run in other people's programs, in each of their calls.
    target_compile_options(${target} PRIVATE -O2)
    target_link_options(${target} PRIVATE "-Wl,--version-script=${map}" -Wl,--no-undefined)
    # The RPATHs of both libraries are the same, so that the MPI library's name stands for the same file.
    set_target_properties(${target} PROPERTIES
        OUTPUT_NAME ${output_name} C_VISIBILITY_PRESET hidden
        INSTALL_RPATH "$ORIGIN;${CMAKE_INSTALL_RPATH}" BUILD_RPATH "$ORIGIN")
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${map})
    install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

set(trace_wrappers "    MPI_*;\n    mpi_*_;\n")
set(trace_internal
    "    offbeat_tracer_has_pmpi_name;\n    offbeat_tracer_next_symbol;\n    offbeat_tracer_this_thread;\n")
trace_library(trace offbeat-trace "${trace_wrappers}    PMPI_*;\n    pmpi_*_;\n    dlsym;\n${trace_internal}"
    "${trace_hidden}" trace/loaded_objects.c trace/next_dlsym.c trace/preload_shim.c trace/symbol_lookup.c
    trace/trampolines.c)
# Only this file depends on the MPI library: with a compiler cache the trampolines are compiled once for all libraries.
set_source_files_properties(trace/loaded_objects.c PROPERTIES
    COMPILE_DEFINITIONS "OFFBEAT_TRACE_MPI=\"${trace_mpi_library}\"")
# Thousands of generated functions, which take most of the time of the build: without debug information on variables, and
# the trampolines with as little optimisation as makes them jumps (preload_shim.c).
set(lines_only $<$<CONFIG:RelWithDebInfo>:-g1>)
set_source_files_properties(trace/wrappers_c.c trace/wrappers_fortran.c trace/wrappers_large_c.c
    trace/wrappers_messages_c.c trace/wrappers_messages_fortran.c PROPERTIES COMPILE_OPTIONS "${lines_only}")
set_source_files_properties(trace/preload_shim.c PROPERTIES
    COMPILE_OPTIONS "${lines_only};-O1;-foptimize-sibling-calls")
target_link_libraries(trace PRIVATE ${CMAKE_DL_LIBS})

set(trace_without_mpi
    settings/settings.c trace/mapping_guard.c trace/record_encoder.c trace/thread_state.c trace/timestamp.c
    trace/trace_config.c trace/trace_file.c)
trace_library(tracer offbeat-tracer "${trace_wrappers}" ""
    inject/delay_plan.c
    inject/inject.c
    trace/call_path.c
    trace/communicators.c
    trace/issued_call.c
    trace/lifecycle.c
    trace/message_call.c
    trace/process_state.c
    trace/python_frames.c
    trace/record_arguments.c
    trace/request_table.c
    trace/requests.c
    trace/sessions.c
    trace/skipped_messages.c
    trace/spawn_info.c
    trace/status_query.c
    trace/traced_call.c
    trace/wrappers_c.c
    trace/wrappers_fortran.c
    trace/wrappers_large_c.c
    trace/wrappers_messages_c.c
    trace/wrappers_messages_fortran.c
    ${trace_without_mpi})
target_compile_definitions(tracer PRIVATE _POSIX_C_SOURCE=200809L) # clock_gettime in a header
target_link_libraries(tracer PRIVATE trace harmonize Threads::Threads ${CMAKE_DL_LIBS} m)

if(OFFBEAT_BUILD_TESTING)
    foreach(subject IN ITEMS timestamp trace_config trace_file)
        add_executable(${subject}_test trace/${subject}_test.c ${trace_without_mpi})
        target_link_libraries(${subject}_test PRIVATE Threads::Threads m)
        offbeat_test(${subject}_test 0)
    endforeach()
    add_executable(delay_plan_test inject/delay_plan_test.c inject/delay_plan.c settings/settings.c)
    target_link_libraries(delay_plan_test PRIVATE m)
    offbeat_test(delay_plan_test 0)
    add_executable(request_table_test trace/request_table_test.c trace/request_table.c)
    target_link_libraries(request_table_test PRIVATE offbeat_mpi Threads::Threads) # the types of handles
    offbeat_test(request_table_test 0)
    add_executable(message_status_test trace/message_status_test.c)
    target_link_libraries(message_status_test PRIVATE offbeat_mpi)
    offbeat_test(message_status_test 1)
endif()
