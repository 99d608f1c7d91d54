# liboffbeat-harmonize.a and liboffbeat-harmonize.so: the shared clock and the harmonised start, for other programs, too.
# liboffbeat-preload.so: harmonised starts in unmodified programs. Their tests: tests.cmake.
add_library(harmonize_objects OBJECT
    fortran/handles.c
    clock/clock.c
    clock/create.c
    clock/exchange.c
    clock/history.c
    clock/messages.c
    clock/model.c
    clock/pair_sync.c
    clock/source.c
    clock/sync_schedule.c
    clock/virtual_clock.c
    harmonize/communicator.c
    harmonize/start_context.c
    harmonize/start_policy.c)
# Only the functions of the public headers are visible outside of a library or program that contains these objects.
set_target_properties(harmonize_objects PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
target_include_directories(harmonize_objects PUBLIC include)
target_link_libraries(harmonize_objects PUBLIC offbeat_mpi)

# liboffbeat-harmonize.a and liboffbeat-harmonize.so, which exports only the functions of the public headers: for
# programs, for Python, and for the preload library, which replaces a program's barriers by harmonised starts.
add_library(harmonize STATIC $<TARGET_OBJECTS:harmonize_objects>)
add_library(harmonize_shared SHARED $<TARGET_OBJECTS:harmonize_objects>)
foreach(library IN ITEMS harmonize harmonize_shared)
    target_include_directories(${library} PUBLIC
        $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${library} PUBLIC offbeat_mpi PRIVATE Threads::Threads)
    # C++ programs link only the C library of MPI, so that mpi.h must not use MPI's former C++ bindings.
    target_compile_definitions(${library} INTERFACE $<$<COMPILE_LANGUAGE:CXX>:OMPI_SKIP_MPICXX;MPICH_SKIP_MPICXX>)
endforeach()
set_target_properties(harmonize PROPERTIES OUTPUT_NAME offbeat-harmonize EXPORT_NAME harmonize_static)
set_target_properties(harmonize_shared PROPERTIES
    OUTPUT_NAME offbeat-harmonize EXPORT_NAME harmonize VERSION ${PROJECT_VERSION} SOVERSION 0)
set(exported ${CMAKE_CURRENT_BINARY_DIR}/exported.map)
offbeat_exported_symbols(${exported}
    ${CMAKE_CURRENT_SOURCE_DIR}/include/offbeat/clock.h
    ${CMAKE_CURRENT_SOURCE_DIR}/include/offbeat/harmonize.h
    ${CMAKE_CURRENT_SOURCE_DIR}/fortran/handles.h)
target_link_options(harmonize_shared PRIVATE "-Wl,--version-script=${exported}" -Wl,--no-undefined)

add_library(preload SHARED preload/barrier.c preload/comm_filter.c)
set(preload_exported ${CMAKE_CURRENT_SOURCE_DIR}/preload/exported.map)
target_link_options(preload PRIVATE "-Wl,--version-script=${preload_exported}" -Wl,--no-undefined)
target_link_libraries(preload PRIVATE harmonize_shared Threads::Threads)
set_target_properties(preload PROPERTIES
    OUTPUT_NAME offbeat-preload INSTALL_RPATH "$ORIGIN;${CMAKE_INSTALL_RPATH}")
