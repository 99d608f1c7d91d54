# The ways of sending a message in partitions, for the driver.
add_library(offbeat_approaches STATIC approaches/approaches.c approaches/messages.c approaches/windows.c)
target_link_libraries(offbeat_approaches PUBLIC offbeat_mpi)

if(OFFBEAT_BUILD_TESTING)
    add_executable(approaches_test approaches/approaches_test.c testing/mpi_assert.c)
    target_link_libraries(approaches_test PRIVATE offbeat_approaches harmonize Threads::Threads)
    target_link_libraries(approaches_test PRIVATE "-Wl,--whole-archive" yielding "-Wl,--no-whole-archive")
    set_target_properties(approaches_test PROPERTIES ENABLE_EXPORTS ON)
    offbeat_test(approaches_test 2 3)
endif()
