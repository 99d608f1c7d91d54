# offbeat-program, the executor of programs of many iterations. With its tests.
set(programs_without_mpi
    programs/delays.c programs/plan.c programs/record.c protocol/answer.c protocol/command.c protocol/print.c
    protocol/protocol.c)

add_executable(offbeat-program
    control/p2p_collectives.c
    programs/exchange.c
    programs/executor.c
    programs/main.c
    work/work.c
    ${programs_without_mpi})
target_link_libraries(offbeat-program PRIVATE harmonize offbeat_collectives Threads::Threads)
install(TARGETS offbeat-program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

if(OFFBEAT_BUILD_TESTING)
    add_executable(plan_test programs/plan_test.c ${programs_without_mpi})
    offbeat_test(plan_test 0)
    add_executable(work_test work/work_test.c work/work.c)
    offbeat_test(work_test 0)
endif()
