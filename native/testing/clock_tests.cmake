# The tests of the clock estimators, which need no MPI, without and with sanitizers.
find_package(Threads REQUIRED)
set(clock_estimator_sources
    clock/exchange.c clock/history.c clock/model.c clock/pair_sync.c clock/sync_schedule.c clock/virtual_clock.c
    testing/network_model.c)

# add_estimator_program(name source flag...): a program without MPI, compiled and linked with the flags
function(add_estimator_program name source)
    add_executable(${name} clock/${source} ${clock_estimator_sources})
    target_link_libraries(${name} PRIVATE Threads::Threads)
    target_compile_options(${name} PRIVATE ${ARGN})
    target_link_options(${name} PRIVATE ${ARGN})
endfunction()

foreach(test IN ITEMS estimator_test bound_test)
    add_estimator_program(${test} ${test}.c)
    offbeat_test(${test} 0)
    add_estimator_program(${test}_with_address_sanitizer ${test}.c
        -fsanitize=address,undefined -fno-sanitize-recover=all -DOFFBEAT_SHORT_TEST)
    add_estimator_program(${test}_with_thread_sanitizer ${test}.c -fsanitize=thread -DOFFBEAT_SHORT_TEST)
    # Built on demand.
    set_target_properties(${test}_with_address_sanitizer ${test}_with_thread_sanitizer PROPERTIES EXCLUDE_FROM_ALL ON)
endforeach()
