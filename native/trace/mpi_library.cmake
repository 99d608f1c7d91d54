# What the tracer must know of the MPI library that it is built for.
#
# In ${trace_mpi_library} the name by which programs load it. Where that can't be read, it is the file's;
# empty where there is none (compilers that need no words for MPI).
#
# In ${trace_exported} what the front shows to the linker: of the table's functions those that the library has.
# Programs look whether their library has a function, and do without it (mpi4py does, of those with large counts): one
# that the tracer alone has would be called. Where the library's symbols can't be read, all are shown.
set(trace_exported ${CMAKE_CURRENT_BINARY_DIR}/trace-exported.map)
set(trace_hidden "")
set(trace_library_has "")
set(trace_mpi_library "")
foreach(library IN LISTS OFFBEAT_MPI_LIBRARY MPI_C_LIBRARIES)
    if(EXISTS "${library}" AND CMAKE_NM)
        execute_process(COMMAND ${CMAKE_NM} -D --defined-only ${library} OUTPUT_VARIABLE symbols ERROR_QUIET)
        string(APPEND trace_library_has "${symbols}\n")
        if(symbols MATCHES " PMPI_Init[@\n]")
            execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${library} OUTPUT_VARIABLE headers ERROR_QUIET)
            if(headers MATCHES "SONAME +([^ \n]+)")
                set(trace_mpi_library ${CMAKE_MATCH_1})
            endif()
        endif()
    endif()
endforeach()
if(trace_library_has MATCHES " MPI_Allreduce[@\n]")
    set(trace_names "")
    file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/trace/table.h rows REGEX "^OFFBEAT_COLLECTIVE\\(")
    foreach(row IN LISTS rows)
        string(REGEX MATCH "\\(([A-Za-z_]+), ([a-z_]+)," found "${row}")
        set(blocking MPI_${CMAKE_MATCH_1})
        set(nonblocking MPI_I${CMAKE_MATCH_2})
        list(APPEND trace_names
            ${blocking}_c ${nonblocking} ${nonblocking}_c ${blocking}_init ${blocking}_init_c)
    endforeach()
    file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/trace/table.h rows REGEX "^OFFBEAT_[A-Z_]*CONSTRUCTOR\\(")
    foreach(row IN LISTS rows)
        string(REGEX MATCH "\\(([A-Za-z_]+)," found "${row}")
        list(APPEND trace_names MPI_${CMAKE_MATCH_1})
    endforeach()
    foreach(name IN LISTS trace_names)
        if(NOT trace_library_has MATCHES " ${name}[@\n]")
            string(APPEND trace_hidden "\n    ${name};\n    P${name};")
        endif()
    endforeach()
endif()
if(NOT trace_mpi_library AND OFFBEAT_MPI_LIBRARY)
    get_filename_component(trace_mpi_library "${OFFBEAT_MPI_LIBRARY}" NAME)
endif()
configure_file(${CMAKE_CURRENT_SOURCE_DIR}/trace/exported.map ${trace_exported} @ONLY)
