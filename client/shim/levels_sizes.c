// SPDX-License-Identifier: MIT
/* How many bytes a call of a library moved, where the library itself has to be asked: see levels_args.h. */
#include "client/shim/levels_args.h"

#if FT_LEVELS_ARE_HERE

#include "client/shim/glob.h"

enum { DIMENSIONS_MAX = 1024, TYPES = 12, H5_ALL = 0, H5_SPECIAL_MAX = 2 };

static const struct {
    uint8_t kind;
    char beginning[4]; /* of the function's name */
    char names[FT_LEVELS_HELPERS][32];
} helpers[] = {{FT_LEVELS_RANK, "", {"PMPI_Comm_rank", "ompi_mpi_comm_world"}},
               {FT_LEVELS_MPIIO, "", {"PMPI_Type_size"}},
               {FT_LEVELS_FORTRAN, "", {"mpi_type_size_", "mpi_type_size_f08_"}},
               {FT_LEVELS_HDF5, "H5D", {"H5Tget_size", "H5Sget_select_npoints", "H5Dget_space", "H5Sclose"}},
               {FT_LEVELS_HDF5, "H5A", {"H5Tget_size", "H5Sget_simple_extent_npoints", "H5Aget_space", "H5Sclose"}},
               {FT_LEVELS_NETCDF, "", {"nc_inq_varndims", "nc_inq_vartype"}},
               {FT_LEVELS_PNETCDF, "", {"ncmpi_inq_varndims", "ncmpi_inq_vartype"}}};

/* By what the name of a function ends in (without "_all"), the bytes of an element in memory. */
static const struct {
    char ending[12];
    uint8_t bytes;
} endings[] = {{"_text", 1},     {"_schar", 1}, {"_uchar", 1},    {"_ubyte", 1}, {"_short", 2},
               {"_ushort", 2},   {"_int", 4},   {"_uint", 4},     {"_float", 4}, {"_double", 8},
               {"_longlong", 8}, {"_long", 8},  {"_ulonglong", 8}};

static size_t without_all(const char *name)
{
    size_t n = ft_length(name);
    return n > 4 && ft_object_is_same(name + n - 4, "_all") ? n - 4 : n;
}

static uint8_t element_bytes(const char *name)
{
    size_t n = without_all(name);
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        size_t length = ft_length(endings[i].ending);
        if (n > length && ft_glob_match(endings[i].ending, length, name + n - length, length))
            return endings[i].bytes;
    }
    return 0;
}

static void find_helpers(struct ft_levels_function *function, const char names[FT_LEVELS_HELPERS][32])
{
    for (unsigned k = 0; k < FT_LEVELS_HELPERS; k++) {
        const char *name = names[k];
        ft_function *found = name[0] != 0 ? ft_object_find(&function->object, name, ft_object_hash(name)) : NULL;
        function->helpers[k] = (uint64_t)(uintptr_t)found;
    }
}

void ft_levels_sizes_learn(struct ft_levels_function *function)
{
    for (size_t i = 0; i < sizeof(helpers) / sizeof(helpers[0]); i++)
        if (helpers[i].kind == function->kind && function->letters[0] != 0 &&
            ft_has_prefix(function->name, helpers[i].beginning))
            find_helpers(function, helpers[i].names);
    function->element_bytes = element_bytes(function->name);
}

static int multiply(uint64_t a, uint64_t b, uint64_t *size)
{
    return !__builtin_mul_overflow(a, b, size) && *size <= INT64_MAX;
}

int ft_levels_size_by_type(const struct ft_levels_function *function, uint64_t type, uint64_t count, uint64_t *size)
{
    int bytes = -1, error = -1, of_fortran = (int)type;
    if ((int64_t)count < 0)
        return 0;
    if (function->kind == FT_LEVELS_FORTRAN) {
        uint64_t address = function->helpers[0] != 0 ? function->helpers[0] : function->helpers[1];
        void (*type_size)(const int *, int *, int *) = (void (*)(const int *, int *, int *))(uintptr_t)address;
        if (type_size != NULL)
            type_size(&of_fortran, &bytes, &error);
    } else {
        int (*type_size)(uint64_t, int *) = (int (*)(uint64_t, int *))(uintptr_t)function->helpers[0];
        error = type_size != NULL ? type_size(type, &bytes) : -1;
    }
    return error == 0 && bytes >= 0 && multiply(count, (uint64_t)bytes, size);
}

/* Elements of a selection; `space` 0: of the whole dataset or attribute (whose space may keep a selection that counts for nothing). */
static int size_of_space(const struct ft_levels_function *function, uint64_t dataset, uint64_t type, uint64_t space,
                         uint64_t *size)
{
    size_t (*type_size)(int64_t) = (size_t (*)(int64_t))(uintptr_t)function->helpers[0];
    int64_t (*count_of)(int64_t) = (int64_t (*)(int64_t))(uintptr_t)function->helpers[1];
    int64_t (*space_of)(int64_t) = (int64_t (*)(int64_t))(uintptr_t)function->helpers[2];
    int (*close_space)(int64_t) = (int (*)(int64_t))(uintptr_t)function->helpers[3];
    int64_t own = 0, count;
    if (type_size == NULL || count_of == NULL)
        return 0;
    if (space == 0) {
        own = space_of != NULL && close_space != NULL ? space_of((int64_t)dataset) : -1;
        if (own < 0)
            return 0;
    }
    count = count_of(space != 0 ? (int64_t)space : own);
    if (own > 0)
        close_space(own);
    return count >= 0 && multiply((uint64_t)count, type_size((int64_t)type), size);
}

int ft_levels_size_of_selection(const struct ft_levels_function *function, const struct ft_levels_selection *selection,
                                uint64_t *size)
{
    uint64_t space = (int64_t)selection->in_memory > H5_SPECIAL_MAX ? selection->in_memory : selection->in_file;
    if ((int64_t)space <= H5_SPECIAL_MAX && selection->in_file != H5_ALL)
        return 0;
    return size_of_space(function, selection->dataset, selection->type, space, size);
}

int ft_levels_size_of_many(const struct ft_levels_function *function, const uint64_t *arguments, uint64_t *size)
{
    const uint64_t *const arrays[] = {
        (const uint64_t *)(uintptr_t)arguments[1], (const uint64_t *)(uintptr_t)arguments[2],
        (const uint64_t *)(uintptr_t)arguments[3], (const uint64_t *)(uintptr_t)arguments[4]};
    uint64_t all = 0, one = 0;
    if (arguments[0] > FT_LEVELS_MANY_MAX)
        return 0;
    for (uint64_t i = 0; i < arguments[0]; i++) {
        const struct ft_levels_selection selection = {arrays[0][i], arrays[1][i], arrays[2][i], arrays[3][i]};
        if (!ft_levels_size_of_selection(function, &selection, &one) || __builtin_add_overflow(all, one, &all))
            return 0;
    }
    *size = all;
    return all <= INT64_MAX;
}

/* In the file, where the function says nothing of it; 0: a type of the user's. */
static uint64_t bytes_of_type(const struct ft_levels_function *function, int file, int variable)
{
    static const uint8_t bytes[TYPES] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8}; /* NC_NAT to NC_UINT64 */
    int (*type_of)(int, int, int *) = (int (*)(int, int, int *))(uintptr_t)function->helpers[1];
    int type = 0;
    return type_of != NULL && type_of(file, variable, &type) == 0 && type > 0 && type < TYPES ? bytes[type] : 0;
}

int ft_levels_size_of_part(const struct ft_levels_function *function, uint64_t file, uint64_t variable, int is_one,
                           const uint64_t *counts, uint64_t *size)
{
    int (*dimensions_of)(int, int, int *) = (int (*)(int, int, int *))(uintptr_t)function->helpers[0];
    int dimensions = 0;
    if (dimensions_of == NULL || (!is_one && dimensions_of((int)file, (int)variable, &dimensions) != 0) ||
        dimensions < 0 || dimensions > DIMENSIONS_MAX || (counts == NULL && dimensions > 0))
        return 0;
    uint64_t all =
        function->element_bytes != 0 ? function->element_bytes : bytes_of_type(function, (int)file, (int)variable);
    int is_known = all != 0;
    for (int i = 0; is_known && i < dimensions; i++)
        is_known = multiply(all, counts[i], &all);
    *size = all;
    return is_known;
}

#endif
