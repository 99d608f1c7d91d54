# offbeat_exported_symbols(output header...): writes a linker version script that exports the functions that the headers
# declare, and nothing else.
function(offbeat_exported_symbols output)
    set(names "")
    foreach(header IN LISTS ARGN)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
        file(STRINGS "${header}" declarations REGEX "^[a-z].*[ *](offbeat_[a-z_]+|MPIX_[A-Za-z_]+)\\(")
        foreach(declaration IN LISTS declarations)
            string(REGEX REPLACE "^[^(]*[ *]([A-Za-z_]+)\\(.*$" "\\1" name "${declaration}")
            string(APPEND names "    ${name};\n")
        endforeach()
    endforeach()
    file(CONFIGURE OUTPUT "${output}" CONTENT "{\nglobal:\n${names}local:\n    *;\n};\n" @ONLY)
endfunction()
