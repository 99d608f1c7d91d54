# Installs the headers and libraries, and a CMake package and pkg-config files for other builds.
include(CMakePackageConfigHelpers)
set(OFFBEAT_PACKAGE ${CMAKE_INSTALL_LIBDIR}/cmake/offbeat-harmonize)

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

install(TARGETS offbeat-driver RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS harmonize harmonize_shared preload offbeat_mpi EXPORT offbeat-harmonize-targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS partitioned partitioned_shared EXPORT offbeat-harmonize-targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/offbeat/clock.h include/offbeat/harmonize.h include/offbeat/partitioned.h
    include/offbeat/partitioned_collectives.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/offbeat)
install(EXPORT offbeat-harmonize-targets NAMESPACE offbeat:: DESTINATION ${OFFBEAT_PACKAGE})
# For Fortran compilers that cannot read our modules: users compile these sources with their program.
install(FILES fortran/harmonize_c.f90 fortran/offbeat_harmonize.f90 fortran/harmonize_mpif.f90 fortran/offbeat_harmonize.inc
    fortran/partitioned_c.f90 fortran/offbeat_partitioned.f90 fortran/partitioned_mpif.f90 fortran/offbeat_partitioned.inc
    DESTINATION ${CMAKE_INSTALL_DATADIR}/offbeat/fortran)

if(OFFBEAT_FORTRAN)
    include(cmake/fortran.cmake)
endif()

set(OFFBEAT_HAS_FORTRAN FALSE)
if(TARGET harmonize_fortran)
    set(OFFBEAT_HAS_FORTRAN TRUE)
endif()
set(OFFBEAT_PRELOAD "${CMAKE_INSTALL_LIBDIR}/liboffbeat-preload.so")
configure_package_config_file(cmake/offbeat-harmonize-config.cmake.in offbeat-harmonize-config.cmake
    INSTALL_DESTINATION ${OFFBEAT_PACKAGE} PATH_VARS OFFBEAT_PRELOAD)
write_basic_package_version_file(offbeat-harmonize-config-version.cmake COMPATIBILITY SameMinorVersion)
configure_file(cmake/offbeat-harmonize.pc.in offbeat-harmonize.pc @ONLY)
configure_file(cmake/offbeat-partitioned.pc.in offbeat-partitioned.pc @ONLY)
install(FILES
    ${CMAKE_CURRENT_BINARY_DIR}/offbeat-harmonize-config.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/offbeat-harmonize-config-version.cmake
    DESTINATION ${OFFBEAT_PACKAGE})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/offbeat-harmonize.pc ${CMAKE_CURRENT_BINARY_DIR}/offbeat-partitioned.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
