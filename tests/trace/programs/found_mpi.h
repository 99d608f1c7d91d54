/* For programs that are not linked to MPI: the objects that mpi.h of Open MPI refers to are looked up, too.
 */
#include <dlfcn.h>
#include <mpi.h>

#ifdef OPEN_MPI
static inline void *found_object(const char *name) {
    return dlsym(dlopen(FOUND_LIBRARY, RTLD_LAZY), name);
}
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) ((type)found_object(#global))
#endif
