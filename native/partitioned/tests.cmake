# The tests of partitioned communication.
add_executable(partitioned_layout_test partitioned/layout_test.c partitioned/layout.c partitioned/tags.c)
offbeat_test(partitioned_layout_test 0)
add_executable(partitioned_collective_layout_test
    partitioned/collective_layout_test.c partitioned/collective_layout.c partitioned/layout.c)
offbeat_test(partitioned_collective_layout_test 0)

add_executable(partitioned_entry_table_test partitioned/entry_table_test.c partitioned/entry_table.c)
offbeat_test(partitioned_entry_table_test 0)
add_executable(partitioned_owner_test partitioned/owner_test.c partitioned/owner.c)
target_link_libraries(partitioned_owner_test PRIVATE Threads::Threads)
offbeat_test(partitioned_owner_test 0)

add_executable(partitioned_test partitioned/partitioned_test.c testing/mpi_assert.c)
add_executable(partitioned_misuse_test partitioned/misuse_test.c testing/mpi_assert.c)
add_executable(partitioned_faults_test partitioned/faults_test.c testing/mpi_assert.c)
target_link_options(partitioned_faults_test PRIVATE
    -Wl,--wrap=PMPI_Comm_create,--wrap=PMPI_Comm_free,--wrap=PMPI_Isend,--wrap=PMPI_Irecv,--wrap=PMPI_Test,--wrap=pthread_create)
add_executable(partitioned_random_test partitioned/random_test.c testing/mpi_assert.c)
add_executable(partitioned_collective_test partitioned/collective_test.c testing/mpi_assert.c)
add_executable(partitioned_collective_random_test partitioned/collective_random_test.c testing/mpi_assert.c)
add_executable(partitioned_progress_thread_test partitioned/progress_thread_test.c testing/mpi_assert.c)
add_executable(partitioned_sessions_test partitioned/sessions_test.c)
foreach(program IN ITEMS partitioned_test partitioned_misuse_test partitioned_faults_test
        partitioned_random_test partitioned_collective_test partitioned_collective_random_test
        partitioned_progress_thread_test partitioned_sessions_test)
    target_link_libraries(${program} PRIVATE partitioned Threads::Threads m)
    offbeat_yielding_program(${program})
endforeach()
offbeat_test(partitioned_test 1 2 3)
offbeat_test(partitioned_misuse_test 1 2)
offbeat_test(partitioned_faults_test 1 3)
offbeat_test(partitioned_random_test 1 2 3)
offbeat_test(partitioned_collective_test 1 2 5)
offbeat_test(partitioned_collective_random_test 1 3 8)
offbeat_test(partitioned_progress_thread_test 2)
offbeat_test(partitioned_sessions_test 2)

# offbeat_test_with(name processes argument)
function(offbeat_test_with name processes argument)
    string(REPLACE "NPROCS" "${processes}" launcher "${OFFBEAT_TEST_LAUNCHER}")
    add_test(NAME ${name}.${processes}.${argument} COMMAND ${launcher} $<TARGET_FILE:${name}> ${argument})
    set_tests_properties(${name}.${processes}.${argument} PROPERTIES TIMEOUT 120)
endfunction()
# The same at the other thread level: below MPI_THREAD_MULTIPLE, the library uses no atomic updates without sessions.
offbeat_test_with(partitioned_misuse_test 1 multiple)
offbeat_test_with(partitioned_misuse_test 2 multiple)
offbeat_test_with(partitioned_random_test 2 serialized)
offbeat_test_with(partitioned_collective_random_test 3 serialized)
# The same with the World model beside the session.
offbeat_test_with(partitioned_sessions_test 2 world)

set_tests_properties(partitioned_progress_thread_test.2 partitioned_sessions_test.2 partitioned_sessions_test.2.world
    PROPERTIES SKIP_RETURN_CODE 77)

# add_sanitized_partitioned_tests(sanitizer flag...): random transfers and collectives, which need a launch, and the
# owner of ready bits, which needs none; built on demand
function(add_sanitized_partitioned_tests sanitizer)
    get_target_property(sources partitioned_objects SOURCES)
    set(library partitioned_with_${sanitizer}_sanitizer)
    add_library(${library} STATIC EXCLUDE_FROM_ALL testing/mpi_assert.c ${sources})
    target_include_directories(${library} PUBLIC include)
    target_link_libraries(${library} PUBLIC offbeat_mpi Threads::Threads)
    target_compile_options(${library} PUBLIC ${ARGN})
    target_link_options(${library} PUBLIC ${ARGN})
    foreach(kind IN ITEMS random collective_random)
        set(program partitioned_${kind}_test_with_${sanitizer}_sanitizer)
        add_executable(${program} EXCLUDE_FROM_ALL partitioned/${kind}_test.c)
        target_link_libraries(${program} PRIVATE ${library})
    endforeach()
    add_executable(partitioned_owner_test_with_${sanitizer}_sanitizer EXCLUDE_FROM_ALL partitioned/owner_test.c)
    target_link_libraries(partitioned_owner_test_with_${sanitizer}_sanitizer PRIVATE ${library})
endfunction()

add_sanitized_partitioned_tests(address -fsanitize=address,undefined -fno-sanitize-recover=all)
add_sanitized_partitioned_tests(thread -fsanitize=thread)
