# The driver, and what it consists of. Its tests: tests.cmake.

# --- the table of collectives ---
add_library(offbeat_collectives STATIC
    collectives/basic_type.c
    collectives/bits.c
    collectives/buffers.c
    collectives/datatype_check.c
    collectives/drawn_buffer.c
    collectives/drawn_call.c
    collectives/element.c
    collectives/handles.c
    collectives/layout.c
    collectives/operand.c
    collectives/request.c
    collectives/table.c
    collectives/type_text.c)
target_link_libraries(offbeat_collectives PUBLIC offbeat_mpi)

# --- the ways of sending a message in partitions ---
add_library(offbeat_approaches STATIC
    approaches/list.c approaches/messages.c approaches/partitioned.c approaches/transfer.c approaches/windows.c)
target_link_libraries(offbeat_approaches PUBLIC partitioned)

# --- the driver ---
add_executable(offbeat-driver
    benchmark/accuracy.c
    benchmark/communicators.c
    benchmark/legal_call.c
    benchmark/library_verbs.c
    benchmark/main.c
    benchmark/measure.c
    benchmark/partition_data.c
    benchmark/partition_threads.c
    benchmark/partitioned.c
    benchmark/prove.c
    benchmark/samples.c
    benchmark/session.c
    benchmark/start.c
    benchmark/subsets.c
    benchmark/sync.c
    benchmark/transfer.c
    benchmark/work_time.c
    control/p2p_collectives.c
    library/func_names.c
    library/functions.c
    library/messages.c
    library/mpi_implementation.c
    library/symbols.c
    library/ucx.c
    library/variables.c
    protocol/answer.c
    protocol/command.c
    protocol/print.c
    protocol/protocol.c
    work/work.c)
target_link_libraries(offbeat-driver PRIVATE harmonize offbeat_approaches offbeat_collectives Threads::Threads
    ${CMAKE_DL_LIBS})
# The MPI library must resolve the transport's functions to the driver's interposed ones.
set_target_properties(offbeat-driver PROPERTIES ENABLE_EXPORTS ON)
install(TARGETS offbeat-driver RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
