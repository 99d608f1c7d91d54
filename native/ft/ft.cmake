# offbeat-ft, an application to try offbeat on: a 3D FFT whose transposes are MPI_Alltoall. With its tests.
set(ft_without_mpi ft/fft.c ft/imbalance.c ft/options.c ft/problem.c ft/slabs.c)

add_executable(offbeat-ft ft/calls.c ft/main.c ft/report.c ft/solver.c protocol/answer.c ${ft_without_mpi})
target_link_libraries(offbeat-ft PRIVATE offbeat_mpi m)
install(TARGETS offbeat-ft RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

if(OFFBEAT_BUILD_TESTING)
    add_executable(ft_test ft/ft_test.c ${ft_without_mpi})
    target_link_libraries(ft_test PRIVATE m)
    offbeat_test(ft_test 0)
endif()
