# The Fortran bindings: a small library of Fortran code, which calls the C one.
#
# OFFBEAT_FORTRAN: ON, OFF, or AUTO: where CMake finds a Fortran compiler and Fortran parts of the same MPI.

set(fortran_lacks "")

# The wrapper beside the one for C, as mpifort.mpich is beside mpicc.mpich: CMake by itself would take the first on PATH,
# which may be another MPI's.
if(MPI_C_COMPILER MATCHES "mpii?c" AND NOT MPI_Fortran_COMPILER)
    get_filename_component(wrapper_folder "${MPI_C_COMPILER}" DIRECTORY)
    get_filename_component(wrapper_name "${MPI_C_COMPILER}" NAME)
    foreach(names IN ITEMS "mpicc;mpifort" "mpicc;mpif90" "mpiicc;mpiifort" "mpiicx;mpiifx")
        list(GET names 0 name_for_c)
        list(GET names 1 name_for_fortran)
        string(REPLACE "${name_for_c}" "${name_for_fortran}" wrapper "${wrapper_folder}/${wrapper_name}")
        if(wrapper_name MATCHES "${name_for_c}" AND EXISTS "${wrapper}" AND NOT MPI_Fortran_COMPILER)
            set(MPI_Fortran_COMPILER "${wrapper}" CACHE FILEPATH "MPI's wrapper of the Fortran compiler")
        endif()
    endforeach()
    if(NOT MPI_Fortran_COMPILER)
        set(fortran_lacks "there is no wrapper of a Fortran compiler beside ${MPI_C_COMPILER}")
    endif()
endif()

include(CheckLanguage)
if(NOT TARGET MPI::MPI_C)
    set(fortran_lacks "MPI was given by OFFBEAT_MPI_INCLUDE and OFFBEAT_MPI_LIBRARY, which say nothing of Fortran")
elseif(NOT fortran_lacks)
    check_language(Fortran)
    if(NOT CMAKE_Fortran_COMPILER)
        set(fortran_lacks "there is no Fortran compiler")
    endif()
endif()

if(NOT fortran_lacks)
    enable_language(Fortran)
    find_package(MPI COMPONENTS Fortran)
    set(others ${MPI_C_LIBRARIES})
    list(REMOVE_ITEM others ${MPI_Fortran_LIBRARIES})
    if(NOT MPI_Fortran_FOUND)
        set(fortran_lacks "this MPI has no Fortran bindings that CMake could find")
    elseif(others)
        set(fortran_lacks "the Fortran bindings that CMake found are another MPI's; give MPI_Fortran_COMPILER")
    elseif(NOT MPI_Fortran_HAVE_F08_MODULE)
        set(fortran_lacks "this compiler cannot use the module mpi_f08 of this MPI")
    endif()
endif()

if(fortran_lacks)
    if(OFFBEAT_FORTRAN STREQUAL "AUTO")
        message(STATUS "The Fortran bindings are not built: ${fortran_lacks}")
        return()
    endif()
    message(FATAL_ERROR "OFFBEAT_FORTRAN=${OFFBEAT_FORTRAN}, but ${fortran_lacks}")
endif()

add_library(harmonize_fortran STATIC fortran/harmonize_c.f90 fortran/offbeat_harmonize.f90 fortran/harmonize_mpif.f90)
target_link_libraries(harmonize_fortran PUBLIC harmonize_shared MPI::MPI_Fortran)
set(OFFBEAT_FORTRAN_INCLUDE "${CMAKE_INSTALL_INCLUDEDIR}/offbeat/fortran")
target_include_directories(harmonize_fortran PUBLIC
    $<BUILD_INTERFACE:${CMAKE_CURRENT_BINARY_DIR}/fortran>
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/fortran>
    $<INSTALL_INTERFACE:${OFFBEAT_FORTRAN_INCLUDE}>)
set_target_properties(harmonize_fortran PROPERTIES
    OUTPUT_NAME offbeat-harmonize-fortran
    EXPORT_NAME harmonize_fortran
    POSITION_INDEPENDENT_CODE ON
    Fortran_MODULE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/fortran)

install(TARGETS harmonize_fortran EXPORT offbeat-harmonize-fortran ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES
    ${CMAKE_CURRENT_BINARY_DIR}/fortran/offbeat_harmonize.mod
    ${CMAKE_CURRENT_BINARY_DIR}/fortran/offbeat_harmonize_c.mod
    fortran/offbeat_harmonize.inc
    DESTINATION ${OFFBEAT_FORTRAN_INCLUDE})
install(EXPORT offbeat-harmonize-fortran NAMESPACE offbeat:: DESTINATION ${OFFBEAT_PACKAGE})
configure_file(cmake/offbeat-harmonize-fortran.pc.in offbeat-harmonize-fortran.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/offbeat-harmonize-fortran.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
