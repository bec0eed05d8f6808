// SPDX-License-Identifier: MIT
#include "client/shim/levels_args.h"

#if FT_LEVELS_ARE_HERE

#include "client/shim/glob.h"
#include "client/shim/hot.h"
#include "client/shim/reach.h"
#include "client/shim/settings.h"
#include "client/shim/start.h"
#include "client/shim/tags.h"

enum { MPICH_COMM_WORLD = 0x44000000 };

/* Texts within: pointers would have to be relocated in every process that starts. */
static const struct row {
    uint8_t kind;
    char pattern[32], letters[8];
} rows[] = {
#define FT_LEVEL_ARGS(kind, pattern, letters) {FT_LEVELS_##kind, pattern, letters},
#include "client/shim/levels_args.def"
#undef FT_LEVEL_ARGS
};

static const struct {
    uint8_t kind;
    char category[8];
} kinds[] = {{FT_LEVELS_MPIIO, "MPIIO"},
             {FT_LEVELS_RANK, "-"},
             {FT_LEVELS_HDF5, "HDF5"},
             {FT_LEVELS_NETCDF, "NETCDF"},
             {FT_LEVELS_PNETCDF, "PNETCDF"}};

static const char *letters_of(uint8_t kind, const char *name)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].kind == kind && ft_glob_match(rows[i].pattern, ft_length(rows[i].pattern), name, ft_length(name)))
            return rows[i].letters;
    return "";
}

void ft_levels_args_learn(struct ft_levels_function *function)
{
    const char *category = function->category != NULL ? function->category : "-";
    function->kind = FT_LEVELS_OTHER;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (ft_object_is_same(kinds[i].category, category))
            function->kind = kinds[i].kind;
    if (function->kind == FT_LEVELS_MPIIO && function->name[0] == 'm')
        function->kind = FT_LEVELS_FORTRAN;
    function->letters = letters_of(function->kind, function->name);
    ft_levels_sizes_learn(function);
}

/* Whatever a failed call pointed to may not be there. */
static int is_there(const void *from, size_t bytes)
{
    return ft_reach_bytes(&(struct ft_reach){0}, from, bytes);
}

void ft_levels_args_begin(struct ft_levels_call *call)
{
    if (call->function->letters[0] != 'F')
        return;
    const uint64_t *handle = (const uint64_t *)(uintptr_t)call->integers[0];
    size_t bytes = call->function->kind == FT_LEVELS_FORTRAN ? sizeof(uint32_t) : sizeof(*handle);
    uint64_t value = 0;
    if (is_there(handle, bytes))
        __builtin_memcpy(&value, handle, bytes);
    call->integers[0] = value;
}

/* What was found so far of one call. */
struct told {
    const struct ft_levels_call *call;
    struct ft_annotate_arg *args;
    const char *file, *path, *name;
    const uint64_t *counts;
    uint64_t type, in_memory, in_file, count, offset, size, variable;
    uint32_t arg_count;
    uint8_t is_done, has_type, has_offset, has_size, has_count, has_counts, has_variable, has_space, has_many;
};

static uint64_t handle_of(const struct told *told, uint64_t value)
{
    enum { FILE_OF_GROUP = 0xffff0000 }; /* of a netCDF id: the low half is a group in the file */
    uint8_t kind = told->call->function->kind;
    return kind == FT_LEVELS_NETCDF ? value & FILE_OF_GROUP : kind == FT_LEVELS_PNETCDF ? (uint32_t)value : value;
}

static const char *text_at(const struct told *told, uint64_t value)
{
    const char *text = (const char *)(uintptr_t)value;
    if (text == NULL || (!told->is_done && !ft_reach_text(&(struct ft_reach){0}, text, FT_PAGE_BYTES)))
        return NULL;
    return text;
}

static void note_opened(const struct told *told, uint64_t handle)
{
    uint8_t kind = told->call->function->kind;
    const char *file =
        told->path != NULL ? ft_levels_file_keep(told->path, ft_length_most(told->path, FT_PAGE_BYTES)) : told->file;
    ft_levels_file_opened(kind, handle_of(told, handle), file);
}

/* Of several datasets, where all are in one. */
static const char *file_of_many(const struct told *told)
{
    const uint64_t *handles = (const uint64_t *)(uintptr_t)told->call->integers[1];
    const char *file = NULL;
    if (told->call->integers[0] > FT_LEVELS_MANY_MAX)
        return NULL;
    for (uint64_t i = 0; i < told->call->integers[0]; i++) {
        const char *one = ft_levels_file_of(FT_LEVELS_HDF5, handles[i]);
        if (one == NULL || (file != NULL && one != file))
            return NULL;
        file = one;
    }
    return file;
}

/* Of HDF5, what of a dataset or attribute is moved. */
static void note_part(struct told *told, char letter, uint64_t value)
{
    switch (letter) {
    case 'z':
        told->in_memory = value;
        break;
    case 'w':
        told->in_file = value;
        told->has_space = 1;
        break;
    case 'a': /* both spaces are of all */
        told->type = value;
        told->has_type = told->has_space = 1;
        break;
    case 'm':
        told->has_many = 1;
        if (told->is_done)
            told->file = file_of_many(told);
        break;
    default:
        break;
    }
}

static void note_arg(struct told *told, char letter, uint64_t value)
{
    switch (letter) {
    case 'f':
    case 'F':
        told->file = ft_levels_file_of(told->call->function->kind, handle_of(told, value));
        break;
    case 'p':
        told->path = text_at(told, value);
        break;
    case 'q':
        told->name = text_at(told, value);
        break;
    case 'o':
        told->offset = value;
        told->has_offset = 1;
        break;
    case 's':
        told->size = value;
        told->has_size = 1;
        break;
    case 'n':
    case 'N':
        told->count = letter == 'n' ? (uint64_t)(int32_t)value : value;
        told->has_count = 1;
        break;
    case 't':
    case 'y':
        told->type = value;
        told->has_type = 1;
        break;
    case 'v':
        told->variable = value;
        told->has_variable = 1;
        break;
    case 'c':
        told->counts = (const uint64_t *)(uintptr_t)value;
        told->has_counts = 1;
        break;
    case 'H':
        if (told->is_done)
            note_opened(told, *(const uint64_t *)(uintptr_t)value);
        break;
    case 'h':
        if (told->is_done)
            note_opened(told, *(const uint32_t *)(uintptr_t)value);
        break;
    default:
        note_part(told, letter, value);
        break;
    }
}

static void find_size(struct told *told)
{
    const struct ft_levels_call *call = told->call;
    const struct ft_levels_function *function = call->function;
    if (!told->is_done || told->has_size)
        return;
    if (told->has_many) {
        told->has_size = (uint8_t)ft_levels_size_of_many(function, call->integers, &told->size);
    } else if (told->has_type && told->has_space) {
        const struct ft_levels_selection selection = {call->integers[0], told->type, told->in_memory, told->in_file};
        told->has_size = (uint8_t)ft_levels_size_of_selection(function, &selection, &told->size);
    } else if (told->has_variable) {
        told->has_size = (uint8_t)ft_levels_size_of_part(function, call->integers[0], told->variable, !told->has_counts,
                                                         told->counts, &told->size);
    } else if (told->has_type && told->has_count) {
        told->has_size = (uint8_t)ft_levels_size_by_type(function, told->type, told->count, &told->size);
    }
}

static void put(struct told *told, const char *key, const char *text, uint64_t number)
{
    struct ft_annotate_arg *arg = &told->args[told->arg_count++];
    *arg = (struct ft_annotate_arg){.key = key, .type = text != NULL ? FT_ARG_TEXT : FT_ARG_INTEGER};
    if (text != NULL)
        arg->value.text = text;
    else
        arg->value.integer = (int64_t)number;
}

FT_TABLE static uint8_t levels_rank_is_told;

/* As the daemon has got it: MPI_Init may set some of them. */
void ft_levels_args_start(void)
{
    static const char names[][24] = {"OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMIX_RANK",   "PMI_RANK",
                                     "SLURM_PROCID",         "FLUX_TASK_RANK",      "PALS_RANKID", "RANK"};
    char *const *envp = ft_start_environment();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (ft_settings_find(envp, names[i]) != NULL)
            levels_rank_is_told = 1;
}

static void tell_rank(const struct told *told)
{
    const struct ft_levels_function *function = told->call->function;
    int (*comm_rank)(uint64_t, int *) = (int (*)(uint64_t, int *))(uintptr_t)function->helpers[0];
    uint64_t world = function->helpers[1] != 0 ? function->helpers[1] : MPICH_COMM_WORLD;
    const char *soname = function->object.soname;
    int is_known =
        function->helpers[1] != 0 ||
        (soname != NULL && (ft_has_prefix(soname, "libmpich.so.") || ft_object_is_same(soname, "libmpi.so.12")));
    int rank = -1, digits = 0;
    char text[12];
    if (!told->is_done || comm_rank == NULL || !is_known || levels_rank_is_told || comm_rank(world, &rank) != 0 ||
        rank < 0)
        return;
    for (int rest = rank; digits == 0 || rest > 0; rest /= 10)
        digits++;
    text[digits] = 0;
    for (int rest = rank; digits > 0; rest /= 10)
        text[--digits] = (char)('0' + rest % 10);
    ft_tags_set(1, "mpi_rank", text);
    levels_rank_is_told = 1; /* a tool's function may have stood before the library's */
}

uint32_t ft_levels_args_tell(const struct ft_levels_call *call, uint64_t result, struct ft_annotate_arg *args)
{
    const struct ft_levels_function *function = call->function;
    struct ft_levels_call plain = *call;
    struct told told = {.call = &plain, .args = args};
    /* herr_t and htri_t are ints, whose upper half is anything; an hid_t's lower half counts from 0. */
    told.is_done =
        function->kind == FT_LEVELS_HDF5 ? (int64_t)result >= 0 && (int32_t)result >= 0 : (uint32_t)result == 0;
    if (function->kind == FT_LEVELS_FORTRAN)
        told.is_done = (uint8_t)ft_levels_fortran_read(&plain);
    const char *letters = function->letters;
    for (unsigned i = 0; letters[i] != 0; i++) {
        if (letters[i] == '>' && told.is_done)
            note_opened(&told, result);
        if (letters[i] == '>')
            break;
        if (letters[i] == '!')
            tell_rank(&told);
        else
            note_arg(&told, letters[i], plain.integers[i]);
    }
    find_size(&told);
    if (told.path != NULL || told.file != NULL)
        put(&told, "file", told.path != NULL ? told.path : told.file, 0);
    if (told.name != NULL)
        put(&told, "name", told.name, 0);
    if (told.has_size)
        put(&told, "size", NULL, told.size);
    if (told.has_offset)
        put(&told, "offset", NULL, told.offset);
    return told.arg_count;
}

#endif
