# Installs the headers and libraries, and for each library a CMake package and pkg-config files for other builds.
include(CMakePackageConfigHelpers)

# The file of the MPI library, with links resolved; empty when the compiler finds MPI by itself.
set(OFFBEAT_MPI_NAME "${OFFBEAT_MPI_LIBRARY}")
set(OFFBEAT_MPI_BY_CMAKE FALSE)
if(TARGET MPI::MPI_C)
    set(OFFBEAT_MPI_BY_CMAKE TRUE)
    list(APPEND OFFBEAT_MPI_NAME ${MPI_C_LIBRARIES})
endif()
if(OFFBEAT_MPI_NAME)
    list(GET OFFBEAT_MPI_NAME 0 OFFBEAT_MPI_NAME)
    get_filename_component(OFFBEAT_MPI_NAME "${OFFBEAT_MPI_NAME}" REALPATH)
endif()
# The relative path from a pkg-config file to the prefix, which may be changed at installation.
file(RELATIVE_PATH OFFBEAT_UP "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")

if(OFFBEAT_FORTRAN)
    include(cmake/fortran.cmake)
endif()

set(harmonize_headers include/offbeat/clock.h include/offbeat/harmonize.h)
set(partitioned_headers include/offbeat/partitioned.h include/offbeat/partitioned_collectives.h)
set(harmonize_preload preload)
set(partitioned_preload "")

install(TARGETS offbeat_mpi EXPORT offbeat-mpi-targets)
install(EXPORT offbeat-mpi-targets NAMESPACE offbeat:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/offbeat-mpi)
foreach(name IN LISTS OFFBEAT_PARTS)
    set(OFFBEAT_NAME offbeat-${name})
    set(package ${CMAKE_INSTALL_LIBDIR}/cmake/${OFFBEAT_NAME})
    install(TARGETS ${name} ${name}_shared ${${name}_preload} EXPORT ${OFFBEAT_NAME}-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(FILES ${${name}_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/offbeat)
    install(EXPORT ${OFFBEAT_NAME}-targets NAMESPACE offbeat:: DESTINATION ${package})
    # For Fortran compilers that cannot read our modules: users compile these sources with their program.
    install(FILES fortran/${name}_c.f90 fortran/offbeat_${name}.f90 fortran/${name}_mpif.f90 fortran/offbeat_${name}.inc
        DESTINATION ${CMAKE_INSTALL_DATADIR}/offbeat/fortran)

    set(OFFBEAT_HAS_FORTRAN FALSE)
    if(TARGET ${name}_fortran)
        set(OFFBEAT_HAS_FORTRAN TRUE)
        install(EXPORT ${OFFBEAT_NAME}-fortran NAMESPACE offbeat:: DESTINATION ${package})
    endif()
    set(OFFBEAT_PRELOAD "${CMAKE_INSTALL_LIBDIR}/liboffbeat-preload.so")
    if(name STREQUAL "partitioned")
        set(OFFBEAT_PRELOAD "${CMAKE_INSTALL_LIBDIR}/liboffbeat-partitioned-preload.so")
    endif()
    configure_package_config_file(cmake/offbeat-config.cmake.in ${OFFBEAT_NAME}-config.cmake
        INSTALL_DESTINATION ${package} PATH_VARS OFFBEAT_PRELOAD)
    write_basic_package_version_file(${OFFBEAT_NAME}-config-version.cmake COMPATIBILITY SameMinorVersion)
    configure_file(cmake/${OFFBEAT_NAME}.pc.in ${OFFBEAT_NAME}.pc @ONLY)
    install(FILES
        ${CMAKE_CURRENT_BINARY_DIR}/${OFFBEAT_NAME}-config.cmake
        ${CMAKE_CURRENT_BINARY_DIR}/${OFFBEAT_NAME}-config-version.cmake
        DESTINATION ${package})
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${OFFBEAT_NAME}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
