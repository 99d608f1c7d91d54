# The tests of partitioned communication.
add_executable(partitioned_layout_test partitioned/layout_test.c partitioned/layout.c partitioned/tags.c)
offbeat_test(partitioned_layout_test 0)

add_executable(partitioned_test partitioned/partitioned_test.c testing/mpi_assert.c)
add_executable(partitioned_misuse_test partitioned/misuse_test.c testing/mpi_assert.c)
add_executable(partitioned_random_test partitioned/random_test.c testing/mpi_assert.c)
foreach(program IN ITEMS partitioned_test partitioned_misuse_test partitioned_random_test)
    target_link_libraries(${program} PRIVATE partitioned harmonize Threads::Threads m
        "-Wl,--whole-archive" yielding "-Wl,--no-whole-archive")
    set_target_properties(${program} PROPERTIES ENABLE_EXPORTS ON)
    offbeat_test(${program} 1 2 3 4)
endforeach()
