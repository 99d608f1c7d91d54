# The tests of the shared clock that need no MPI, plain and under the sanitizers.
find_package(Threads REQUIRED)
set(clock_without_mpi
    clock/fit.c clock/history.c clock/interval.c clock/lesson.c clock/method.c clock/model.c clock/order.c
    clock/polygon.c clock/quickest.c clock/virtual.c clock/network.c)

# clock_program(name source flag...): a program of the estimator, the model and one more source
function(clock_program name source)
    add_executable(${name} clock/${source} ${clock_without_mpi})
    target_link_libraries(${name} PRIVATE Threads::Threads)
    target_compile_options(${name} PRIVATE ${ARGN})
    target_link_options(${name} PRIVATE ${ARGN})
endfunction()

foreach(subject IN ITEMS parts coverage)
    clock_program(${subject}_test ${subject}_test.c)
    list(APPEND clock_tests ${subject}_test)
    if(OFFBEAT_SANITIZERS)
        clock_program(${subject}_test_of_addresses ${subject}_test.c
            -fsanitize=address,undefined -fno-sanitize-recover=all)
        clock_program(${subject}_test_of_threads ${subject}_test.c -fsanitize=thread)
        list(APPEND clock_tests ${subject}_test_of_addresses ${subject}_test_of_threads)
    endif()
endforeach()
foreach(test IN LISTS clock_tests)
    offbeat_test(${test} 0)
endforeach()
