/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "trace/loaded_objects.h"

#include "trace/next_dlsym.h"
#include "trace/trampolines.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- whose MPI library is it?
 *
 * No lock is held while libraries are searched, as the dynamic linker has locks of its own: threads that come
 * here at the same time all get the same result. --- */

static _Atomic(void *)
    mpi_scope; /* a handle for dlsym, by which the MPI library is found; NULL: not known yet */
static _Atomic(void *) tracer; /* the library with the wrappers; NULL: not loaded */

/* Prints a message, on rank 0 of a launch only, and only once. */
__attribute__((format(printf, 1, 2))) static void print_once(const char *format, ...) {
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
    static atomic_flag is_printed = ATOMIC_FLAG_INIT;
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        const char *rank = getenv(ranks[i]);
        if (rank != NULL && strcmp(rank, "0") != 0)
            return;
    }
    if (atomic_flag_test_and_set(&is_printed))
        return;
    char message[8192];
    va_list values;
    va_start(values, format);
    vsnprintf(message, sizeof message, format, values);
    va_end(values);
    fprintf(stderr, "offbeat: %s\n", message);
}

/* The loaded object that contains an address; NULL if there is none. */
static const struct link_map *object_of(const void *address) {
    Dl_info info;
    struct link_map *object = NULL;
    return dladdr1(address, &info, (void **)&object, RTLD_DL_LINKMAP) != 0 ? object : NULL;
}

/* Where the program's MPI library is: in the global scope after this library, or in the local scope of the
 * caller, as with Python modules. NULL if there is no MPI library. */
static void *find_mpi_scope(const void *caller) {
    if (offbeat_tracer_dlsym(RTLD_NEXT, "PMPI_Init") != NULL)
        return RTLD_NEXT;
    const struct link_map *object = object_of(caller);
    void *handle = object != NULL ? dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    return handle != NULL && offbeat_tracer_dlsym(handle, "PMPI_Init") != NULL ? handle : NULL;
}

/* Whether the tracer was built for the MPI library in this scope; assumed if the build could not determine
 * the library's name. Other tools may define MPI_Init, but not PMPI_Init. */
static int is_built_for(void *scope) {
    if (*OFFBEAT_TRACE_MPI == '\0')
        return 1;
    void *mpi_library = dlopen(OFFBEAT_TRACE_MPI, RTLD_LAZY | RTLD_NOLOAD);
    if (mpi_library == NULL)
        return 0;
    const int is_same =
        offbeat_tracer_dlsym(mpi_library, "PMPI_Init") == offbeat_tracer_dlsym(scope, "PMPI_Init");
    dlclose(mpi_library);
    return is_same;
}

/* The library's version, its first line up to a comma, with single spaces. */
static void get_version(void *scope, char *name, size_t bytes) {
    static char version[65536]; /* larger than any MPI_MAX_LIBRARY_VERSION_STRING */
    int length = 0;
    int (*get)(char *, int *) =
        (int (*)(char *, int *))offbeat_tracer_dlsym(scope, "PMPI_Get_library_version");
    if (get == NULL || get(version, &length) != 0)
        strcpy(version, "another MPI library");
    version[strcspn(version, ",\n")] = '\0';
    size_t name_length = 0;
    for (const char *cursor = version; *cursor != '\0' && name_length + 1 < bytes; cursor++)
        if (!isspace((unsigned char)*cursor))
            name[name_length++] = *cursor;
        else if (name_length > 0 && name[name_length - 1] != ' ')
            name[name_length++] = ' ';
    name[name_length] = '\0';
}

static void print_other_library(void *scope) {
    char version[128];
    const struct link_map *library = object_of(offbeat_tracer_dlsym(scope, "PMPI_Init"));
    get_version(scope, version, sizeof version);
    print_once(
        "%s uses %s (%s), and the tracer was built for %s: the program continues untraced; start it with the "
        "launcher of its own MPI library, or name that library with --mpi",
        program_invocation_name, version, library != NULL ? library->l_name : "", OFFBEAT_TRACE_MPI);
}

/* The tracer's dependence on the MPI library is satisfied by the program's, which is loaded already. */
static void load_tracer(void) {
    void *tracer_handle = dlopen("liboffbeat-tracer.so", RTLD_NOW | RTLD_LOCAL);
    if (tracer_handle != NULL) {
        atomic_store(&tracer, tracer_handle);
        return;
    }
    print_once("the tracer cannot be loaded (%s) and the program continues untraced; it should be in the "
               "folder of the "
               "library in LD_PRELOAD, built for the MPI library that the program uses",
               dlerror());
}

static void init_in_scope(void *scope) {
    if (is_built_for(scope))
        load_tracer();
    else
        print_other_library(scope);
    atomic_store(&mpi_scope, scope);
}

int offbeat_tracer_resolver_init(const void *caller) {
    if (atomic_load(&mpi_scope) != NULL)
        return 1;
    void *scope = find_mpi_scope(caller);
    if (scope == NULL)
        return 0;
    init_in_scope(scope);
    return 1;
}

/* MPICH 4.0 has the procedures of mpi_f08 without PMPI names. In the scope there may be a tool before the
 * library, whose own procedures are in the object that has the PMPI names of the other bindings. */
static void *find_without_prefix(void *scope, const char *pmpi_name) {
    const struct link_map *library =
        *pmpi_name == 'p' ? object_of(offbeat_tracer_dlsym(scope, "pmpi_init_")) : NULL;
    void *handle = library != NULL ? dlopen(library->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (handle == NULL)
        return NULL;
    void *function = offbeat_tracer_dlsym(handle, pmpi_name + 1);
    dlclose(handle);
    return object_of(function) == library ? function : NULL;
}

static void *find_pmpi(void *scope, const char *pmpi_name) {
    void *function = offbeat_tracer_dlsym(scope, pmpi_name);
    return function != NULL ? function : find_without_prefix(scope, pmpi_name);
}

int offbeat_tracer_is_library_function(const void *function, const char *pmpi_name) {
    const struct link_map *object = object_of(function);
    void *handle = object != NULL ? dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    const void *pmpi = handle != NULL ? find_pmpi(handle, pmpi_name) : NULL;
    if (pmpi == NULL || object_of(pmpi) != object) /* tools do not define PMPI names */
        return 0;
    /* In the global scope there may be tools before the library. The handle stays open, as the library is
     * used from now on. */
    if (atomic_load(&mpi_scope) == NULL && offbeat_tracer_dlsym(handle, "PMPI_Init") != NULL)
        init_in_scope(offbeat_tracer_dlsym(RTLD_NEXT, "PMPI_Init") != NULL ? RTLD_NEXT : handle);
    return offbeat_tracer_next_symbol(pmpi_name) == pmpi;
}

int offbeat_tracer_is_loaded(const void *caller) {
    return offbeat_tracer_resolver_init(caller) && atomic_load(&tracer) != NULL;
}

void *offbeat_tracer_next_symbol(const char *name) {
    void *scope = atomic_load(&mpi_scope);
    void *function = find_pmpi(scope != NULL ? scope : RTLD_NEXT, name);
    /* dlsym(RTLD_NEXT) depends on its caller, which must be this library: prevents a tail call. */
    atomic_signal_fence(memory_order_seq_cst);
    return function;
}

void *offbeat_tracer_resolve(const char *name) {
    void *wrappers = atomic_load(&tracer);
    return wrappers != NULL ? offbeat_tracer_dlsym(wrappers, name) : offbeat_tracer_next_symbol(name);
}

/* --- whose code is it? --- */

/* Prefixes of the file names of MPI libraries and of the tracer: they have nothing else in common. */
static const char *const mpi_prefixes[] = {"libmpi",      "libpmpi", "liboshmem", "libompi",    "libopen-",
                                           "libopen_mpi", "libucc",  "libhcoll",  "libfabric",  "mca_",
                                           "libmpl",      "libopa",  "libromio",  "liboffbeat-"};

offbeat_tracer_code_range offbeat_tracer_code_ranges[OFFBEAT_TRACER_MAX_CODE_RANGES];
_Atomic int offbeat_tracer_code_range_count;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int has_prefix(const char *path, const char *prefix) {
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

static int has_mpi_name(const char *path) {
    for (size_t i = 0; i < sizeof mpi_prefixes / sizeof *mpi_prefixes; i++)
        if (has_prefix(path, mpi_prefixes[i]))
            return 1;
    return 0;
}

/* Code that was not known before, and, if its file is named like an MPI library, the path of the file. */
typedef struct new_code {
    uintptr_t start, end;
    char *path;
    struct new_code *next;
} new_code;

static int defines(void *handle, const char *name, const new_code *code) {
    const uintptr_t function = (uintptr_t)offbeat_tracer_dlsym(handle, name);
    return function >= code->start && function < code->end;
}

/* Whether a file is a tool, such as libmpiP.so: tools define MPI functions, and no PMPI functions. So does
 * the tracer. */
static int is_tool(const new_code *code) {
    if (has_prefix(code->path, "liboffbeat-"))
        return 0;
    int has_mpi = 0, has_pmpi = 0;
    const char *name;
    void *handle = dlopen(code->path, RTLD_LAZY | RTLD_NOLOAD);
    for (size_t i = 0; handle != NULL && !has_pmpi && (name = offbeat_tracer_wrapped_name(i)) != NULL; i++)
        *(name[0] == 'P' || name[0] == 'p' ? &has_pmpi : &has_mpi) |= defines(handle, name, code);
    if (handle != NULL)
        dlclose(handle);
    return has_mpi && !has_pmpi;
}

/* A callback of dl_iterate_phdr, which begins with the executable: adds code to a list. */
static int list_code(struct dl_phdr_info *object, size_t bytes, void *list) {
    (void)bytes;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const uintptr_t start = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
        const int is_code = object->dlpi_phdr[i].p_type == PT_LOAD && object->dlpi_phdr[i].p_flags & PF_X;
        new_code *code = is_code && offbeat_tracer_is_program_code((const void *)start) < 0
                             ? calloc(1, sizeof *code)
                             : NULL;
        if (code == NULL)
            continue;
        *code = (new_code){.start = start,
                           .end = start + object->dlpi_phdr[i].p_memsz,
                           .path = has_mpi_name(object->dlpi_name) ? strdup(object->dlpi_name) : NULL,
                           .next = *(new_code **)list};
        *(new_code **)list = code;
    }
    return 0;
}

static void add_range(uintptr_t start, uintptr_t end, int is_program) {
    pthread_mutex_lock(&lock);
    const int count = atomic_load(&offbeat_tracer_code_range_count);
    if (count < OFFBEAT_TRACER_MAX_CODE_RANGES && offbeat_tracer_is_program_code((const void *)start) < 0) {
        offbeat_tracer_code_ranges[count] = (offbeat_tracer_code_range){start, end, is_program};
        atomic_store(&offbeat_tracer_code_range_count, count + 1);
    }
    pthread_mutex_unlock(&lock);
}

/* Without the lock, as the dynamic linker has locks of its own. */
void offbeat_tracer_scan_code(int is_traced) {
    new_code *list = NULL;
    if (is_traced)
        dl_iterate_phdr(list_code, &list);
    else
        add_range(0, UINTPTR_MAX, 0);
    while (list != NULL) {
        new_code *code = list;
        add_range(code->start, code->end, code->path == NULL || is_tool(code));
        list = code->next;
        free(code->path);
        free(code);
    }
}

/* --- missing symbols: the relocations of each object are processed as the dynamic linker does --- */

#if __ELF_NATIVE_CLASS == 64
#define SYMBOL_OF ELF64_R_SYM
#else
#define SYMBOL_OF ELF32_R_SYM
#endif
#define BINDING_OF(symbol) ((symbol)->st_info >> 4)

typedef struct object {
    uintptr_t base;
    uintptr_t relro_start, relro_end; /* read-only after relocation */
    const ElfW(Sym) * symbols;
    const char *names;
} object;

/* A relocation table; Rel is the beginning of Rela. */
typedef struct relocations {
    uintptr_t first;
    size_t bytes, entry_bytes;
} relocations;

/* Some dynamic linkers make the addresses in a dynamic section absolute, others do not. */
static uintptr_t absolute(const object *owner, uintptr_t address) {
    return address < owner->base ? owner->base + address : address;
}

static int is_in_preload_library(uintptr_t address) {
    Dl_info there, here;
    return dladdr((void *)address, &there) != 0 &&
           dladdr((void *)(uintptr_t)offbeat_tracer_clear_missing_symbols, &here) != 0 &&
           there.dli_fbase == here.dli_fbase;
}

/* The start of the page that contains an address. */
static uintptr_t page_of(uintptr_t address) {
    const uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    return address / page_bytes * page_bytes;
}

static void clear(const object *owner, uintptr_t *slot) {
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)page_of((uintptr_t)slot);
    const int is_read_only = (uintptr_t)slot >= owner->relro_start && (uintptr_t)slot < owner->relro_end;
    if (is_read_only && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0)
        return;
    *slot = 0;
    if (is_read_only)
        mprotect(page, page_bytes, PROT_READ);
}

static void clear_in_table(const object *owner, const relocations *table) {
    for (size_t offset = 0; table->entry_bytes > 0 && offset < table->bytes; offset += table->entry_bytes) {
        const ElfW(Rel) *relocation = (const ElfW(Rel) *)(table->first + offset);
        const ElfW(Sym) *symbol = &owner->symbols[SYMBOL_OF(relocation->r_info)];
        const char *name = owner->names + symbol->st_name;
        uintptr_t *slot = (uintptr_t *)(owner->base + relocation->r_offset);
        if (symbol->st_shndx == SHN_UNDEF && BINDING_OF(symbol) == STB_WEAK &&
            strncmp(name, "MPI_", 4) == 0 && is_in_preload_library(*slot) &&
            offbeat_tracer_resolve(name) == NULL)
            clear(owner, slot);
    }
}

static void clear_in_object(object *owner, const ElfW(Dyn) * dynamic) {
    relocations data = {0}, calls = {0};
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        const uintptr_t value = dynamic->d_un.d_val;
        switch (dynamic->d_tag) {
        case DT_SYMTAB:
            owner->symbols = (const ElfW(Sym) *)absolute(owner, value);
            break;
        case DT_STRTAB:
            owner->names = (const char *)absolute(owner, value);
            break;
        case DT_RELA:
        case DT_REL:
            data.first = absolute(owner, value);
            break;
        case DT_RELASZ:
        case DT_RELSZ:
            data.bytes = value;
            break;
        case DT_RELAENT:
        case DT_RELENT:
            data.entry_bytes = value;
            break;
        case DT_JMPREL:
            calls.first = absolute(owner, value);
            break;
        case DT_PLTRELSZ:
            calls.bytes = value;
            break;
        case DT_PLTREL:
            calls.entry_bytes = value == DT_RELA ? sizeof(ElfW(Rela)) : sizeof(ElfW(Rel));
            break;
        default:
            break;
        }
    }
    if (owner->symbols == NULL || owner->names == NULL)
        return;
    clear_in_table(owner, &data);
    clear_in_table(owner, &calls);
}

/* A callback of dl_iterate_phdr. */
static int visit_object(struct dl_phdr_info *info, size_t bytes, void *context) {
    object owner = {.base = info->dlpi_addr};
    const ElfW(Dyn) *dynamic = NULL;
    (void)bytes, (void)context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(owner.base + segment->p_vaddr);
        if (segment->p_type == PT_GNU_RELRO) {
            owner.relro_start = owner.base + segment->p_vaddr;
            owner.relro_end =
                page_of(owner.relro_start + segment->p_memsz); /* a last, partial page stays writable */
        }
    }
    if (dynamic != NULL)
        clear_in_object(&owner, dynamic);
    return 0;
}

void offbeat_tracer_clear_missing_symbols(void) {
    dl_iterate_phdr(visit_object, NULL);
}
