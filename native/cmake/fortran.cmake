# The Fortran bindings: a small library of Fortran code that calls the C library.
#
# OFFBEAT_FORTRAN: ON, OFF, or AUTO, which means: if CMake finds a Fortran compiler and Fortran bindings of the same MPI.

set(missing_for_fortran "")

# Use the Fortran wrapper in the folder of the C wrapper (mpifort.mpich for mpicc.mpich): CMake would use the first one on
# PATH, which may belong to another MPI.
if(MPI_C_COMPILER MATCHES "mpii?c" AND NOT MPI_Fortran_COMPILER)
    get_filename_component(wrapper_folder "${MPI_C_COMPILER}" DIRECTORY)
    get_filename_component(wrapper_name "${MPI_C_COMPILER}" NAME)
    foreach(names IN ITEMS "mpicc;mpifort" "mpicc;mpif90" "mpiicc;mpiifort" "mpiicx;mpiifx")
        list(GET names 0 name_for_c)
        list(GET names 1 name_for_fortran)
        string(REPLACE "${name_for_c}" "${name_for_fortran}" wrapper "${wrapper_folder}/${wrapper_name}")
        if(wrapper_name MATCHES "${name_for_c}" AND EXISTS "${wrapper}" AND NOT MPI_Fortran_COMPILER)
            set(MPI_Fortran_COMPILER "${wrapper}" CACHE FILEPATH "MPI's Fortran compiler wrapper")
        endif()
    endforeach()
    if(NOT MPI_Fortran_COMPILER)
        set(missing_for_fortran "there is no Fortran compiler wrapper in the folder of ${MPI_C_COMPILER}")
    endif()
endif()

include(CheckLanguage)
if(NOT TARGET MPI::MPI_C)
    set(missing_for_fortran "OFFBEAT_MPI_INCLUDE and OFFBEAT_MPI_LIBRARY do not include Fortran bindings")
elseif(NOT missing_for_fortran)
    check_language(Fortran)
    if(NOT CMAKE_Fortran_COMPILER)
        set(missing_for_fortran "there is no Fortran compiler")
    endif()
endif()

if(NOT missing_for_fortran)
    enable_language(Fortran)
    find_package(MPI COMPONENTS Fortran)
    set(c_only_libraries ${MPI_C_LIBRARIES})
    list(REMOVE_ITEM c_only_libraries ${MPI_Fortran_LIBRARIES})
    if(NOT MPI_Fortran_FOUND)
        set(missing_for_fortran "CMake found no Fortran bindings of this MPI")
    elseif(c_only_libraries)
        set(missing_for_fortran "the Fortran bindings that CMake found are another MPI's; give MPI_Fortran_COMPILER")
    elseif(NOT MPI_Fortran_HAVE_F08_MODULE)
        set(missing_for_fortran "this compiler cannot read this MPI's module mpi_f08")
    endif()
endif()

if(missing_for_fortran)
    if(OFFBEAT_FORTRAN STREQUAL "AUTO")
        message(STATUS "The Fortran bindings are not built: ${missing_for_fortran}")
        return()
    endif()
    message(FATAL_ERROR "OFFBEAT_FORTRAN=${OFFBEAT_FORTRAN}, but ${missing_for_fortran}")
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
