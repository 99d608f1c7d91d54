# liboffbeat-partitioned-preload.so: offbeat's partitioned communication for programs that call MPI's own functions. Not
# for libraries whose mpi.h has none of these (Open MPI 4).
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_INCLUDES ${OFFBEAT_MPI_INCLUDE})
if(TARGET MPI::MPI_C)
    set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
endif()
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # nothing is linked
check_c_source_compiles("#include <mpi.h>\nvoid *f(void) { return (void *)MPI_Psend_init; }" OFFBEAT_MPI_HAS_PARTITIONED)
unset(CMAKE_TRY_COMPILE_TARGET_TYPE)
unset(CMAKE_REQUIRED_LIBRARIES)
unset(CMAKE_REQUIRED_INCLUDES)
if(NOT OFFBEAT_MPI_HAS_PARTITIONED)
    return()
endif()

add_library(partitioned_preload SHARED
    partitioned_preload/blocking.c
    partitioned_preload/constructors.c
    partitioned_preload/fortran.c
    partitioned_preload/handles.c
    partitioned_preload/identity.c
    partitioned_preload/init.c
    partitioned_preload/split_list.c
    partitioned_preload/next.c
    partitioned_preload/requests.c
    partitioned_preload/list_calls.c
    partitioned_preload/tools.c
    partitioned_preload/wait.c
    $<TARGET_OBJECTS:partitioned_objects>)
set(partitioned_preload_exported ${CMAKE_CURRENT_SOURCE_DIR}/partitioned_preload/exported.map)
target_include_directories(partitioned_preload PRIVATE include)
target_link_options(partitioned_preload PRIVATE "-Wl,--version-script=${partitioned_preload_exported}" -Wl,--no-undefined)
set_property(TARGET partitioned_preload APPEND PROPERTY LINK_DEPENDS ${partitioned_preload_exported})
set_target_properties(partitioned_preload PROPERTIES OUTPUT_NAME offbeat-partitioned-preload)
target_link_libraries(partitioned_preload PRIVATE offbeat_mpi Threads::Threads ${CMAKE_DL_LIBS})
install(TARGETS partitioned_preload LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
