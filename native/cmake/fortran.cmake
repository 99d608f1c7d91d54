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
    set(fortran_options "")
    foreach(name IN ITEMS CMAKE_MAKE_PROGRAM CMAKE_PREFIX_PATH CMAKE_TOOLCHAIN_FILE CMAKE_C_COMPILER CMAKE_Fortran_COMPILER
            MPI_C_COMPILER MPI_Fortran_COMPILER)
        if(${name})
            list(JOIN ${name} "\\;" value)
            list(APPEND fortran_options "-D${name}=${value}")
        endif()
    endforeach()
    execute_process(
        COMMAND "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_SOURCE_DIR}/cmake/fortran_bindings"
            -B "${CMAKE_CURRENT_BINARY_DIR}/fortran_bindings" -G "${CMAKE_GENERATOR}" ${fortran_options}
        RESULT_VARIABLE fortran_status OUTPUT_VARIABLE fortran_output ERROR_VARIABLE fortran_output)
    if(NOT fortran_status EQUAL 0)
        set(fortran_log "${CMAKE_CURRENT_BINARY_DIR}/fortran_bindings.log")
        file(WRITE "${fortran_log}" "${fortran_output}")
        set(missing_for_fortran "CMake cannot use the Fortran bindings of this MPI; ${fortran_log} says why")
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

set(OFFBEAT_FORTRAN_INCLUDE "${CMAKE_INSTALL_INCLUDEDIR}/offbeat/fortran")
foreach(name IN LISTS OFFBEAT_PARTS)
    add_library(${name}_fortran STATIC
        fortran/${name}_c.f90 fortran/offbeat_${name}.f90 fortran/${name}_mpif.f90)
    target_link_libraries(${name}_fortran PUBLIC ${name}_shared MPI::MPI_Fortran)
    target_include_directories(${name}_fortran PUBLIC
        $<BUILD_INTERFACE:${CMAKE_CURRENT_BINARY_DIR}/fortran>
        $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/fortran>
        $<INSTALL_INTERFACE:${OFFBEAT_FORTRAN_INCLUDE}>)
    set_target_properties(${name}_fortran PROPERTIES
        OUTPUT_NAME offbeat-${name}-fortran
        EXPORT_NAME ${name}_fortran
        POSITION_INDEPENDENT_CODE ON
        Fortran_MODULE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/fortran)
    install(TARGETS ${name}_fortran EXPORT offbeat-${name}-fortran ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(FILES
        ${CMAKE_CURRENT_BINARY_DIR}/fortran/offbeat_${name}.mod
        ${CMAKE_CURRENT_BINARY_DIR}/fortran/offbeat_${name}_c.mod
        fortran/offbeat_${name}.inc
        DESTINATION ${OFFBEAT_FORTRAN_INCLUDE})
    configure_file(cmake/offbeat-${name}-fortran.pc.in offbeat-${name}-fortran.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/offbeat-${name}-fortran.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
