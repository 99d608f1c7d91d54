# How tests are launched.
enable_testing()
if(NOT OFFBEAT_TEST_LAUNCHER)
    if(NOT MPIEXEC_EXECUTABLE)
        message(FATAL_ERROR "OFFBEAT_TEST_LAUNCHER must say how to launch, as this MPI was not found by CMake")
    endif()
    set(OFFBEAT_TEST_LAUNCHER ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} NPROCS ${MPIEXEC_PREFLAGS})
endif()

# offbeat_test(name, processes...): runs the program of that name once for each number of processes; 0: unlaunched.
# ctest's label 'clocks' is for tests that judge clocks of processes, or durations: nothing may run beside them;
# 'unlaunched' for those that hold for every MPI library if they hold for one.
set(clock_tests clock_test drift_test start_context_test threads_test timestamp_test)
function(offbeat_test name)
    foreach(processes IN LISTS ARGN)
        set(launcher "")
        if(processes GREATER 0)
            string(REPLACE "NPROCS" "${processes}" launcher "${OFFBEAT_TEST_LAUNCHER}")
        endif()
        add_test(NAME ${name}.${processes} COMMAND ${launcher} $<TARGET_FILE:${name}>)
        set_tests_properties(${name}.${processes} PROPERTIES TIMEOUT 120)
        if(name IN_LIST clock_tests)
            set_tests_properties(${name}.${processes} PROPERTIES LABELS clocks RUN_SERIAL ON)
        elseif(processes EQUAL 0)
            set_tests_properties(${name}.${processes} PROPERTIES LABELS unlaunched)
        endif()
    endforeach()
endfunction()

# offbeat_yielding_program(name): waiting processes of the test give their core away (OFFBEAT_YIELD=1), as there are more
# than cores; not in the build of one library, which lacks what the driver uses for this.
function(offbeat_yielding_program name)
    if(NOT OFFBEAT_COMPONENT)
        target_link_libraries(${name} PRIVATE "-Wl,--whole-archive" yielding "-Wl,--no-whole-archive")
        set_target_properties(${name} PROPERTIES ENABLE_EXPORTS ON)
    endif()
endfunction()
