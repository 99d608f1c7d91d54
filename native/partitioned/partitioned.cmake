# liboffbeat-partitioned.a and liboffbeat-partitioned.so: partitioned communication over MPI 3. Its tests: tests.cmake.
add_library(partitioned_objects OBJECT
    fortran/partitioned_handles.c
    partitioned/arguments.c
    partitioned/attach.c
    partitioned/collective.c
    partitioned/collective_init.c
    partitioned/collective_layout.c
    partitioned/communicator.c
    partitioned/complete.c
    partitioned/errors.c
    partitioned/init.c
    partitioned/iterate.c
    partitioned/layout.c
    partitioned/marks.c
    partitioned/matching.c
    partitioned/messages.c
    partitioned/owner.c
    partitioned/entry_table.c
    partitioned/progress.c
    partitioned/receive.c
    partitioned/reduction.c
    partitioned/request.c
    partitioned/send.c
    partitioned/settings.c
    partitioned/tags.c
    partitioned/thread_level.c
    partitioned/transfer.c)
set_target_properties(partitioned_objects PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
target_include_directories(partitioned_objects PUBLIC include)
target_link_libraries(partitioned_objects PUBLIC offbeat_mpi)

add_library(partitioned STATIC $<TARGET_OBJECTS:partitioned_objects>)
add_library(partitioned_shared SHARED $<TARGET_OBJECTS:partitioned_objects>)
foreach(library IN ITEMS partitioned partitioned_shared)
    target_include_directories(${library} PUBLIC
        $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${library} PUBLIC offbeat_mpi PRIVATE Threads::Threads)
    target_compile_definitions(${library} INTERFACE $<$<COMPILE_LANGUAGE:CXX>:OMPI_SKIP_MPICXX;MPICH_SKIP_MPICXX>)
endforeach()
set_target_properties(partitioned PROPERTIES OUTPUT_NAME offbeat-partitioned EXPORT_NAME partitioned_static)
set_target_properties(partitioned_shared PROPERTIES
    OUTPUT_NAME offbeat-partitioned EXPORT_NAME partitioned VERSION ${PROJECT_VERSION} SOVERSION 0)
set(partitioned_exported ${CMAKE_CURRENT_BINARY_DIR}/partitioned_exported.map)
offbeat_exported_symbols(${partitioned_exported}
    ${CMAKE_CURRENT_SOURCE_DIR}/include/offbeat/partitioned.h
    ${CMAKE_CURRENT_SOURCE_DIR}/include/offbeat/partitioned_collectives.h
    ${CMAKE_CURRENT_SOURCE_DIR}/fortran/partitioned_handles.h)
target_link_options(partitioned_shared PRIVATE "-Wl,--version-script=${partitioned_exported}" -Wl,--no-undefined)
