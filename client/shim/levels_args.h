// SPDX-License-Identifier: MIT
/* What a library's function was asked to do, by levels_args.def. */
#ifndef FT_SHIM_LEVELS_ARGS_H
#define FT_SHIM_LEVELS_ARGS_H

#include "client/shim/levels.h"

enum ft_levels_kind {
    FT_LEVELS_OTHER,
    FT_LEVELS_MPIIO,
    FT_LEVELS_RANK,
    FT_LEVELS_HDF5,
    FT_LEVELS_NETCDF,
    FT_LEVELS_PNETCDF
};

/* Before the first call. */
void ft_levels_args_start(void);
/* Fills kind, letters and helpers of a new function, by its category ("-": FT_LEVELS_RANK), name and object. */
void ft_levels_args_learn(struct ft_levels_function *function);
/* Before the call: what will be gone when it has returned. */
void ft_levels_args_begin(struct ft_levels_call *call);
/* Once it has returned. Gives how many of `args`, which are FT_LEVELS_ARGS_MAX, there are. */
uint32_t ft_levels_args_tell(const struct ft_levels_call *call, uint64_t result, struct ft_annotate_arg *args);

/* levels_files.c. Which file a handle is of; NULL: not known. */
const char *ft_levels_file_of(enum ft_levels_kind kind, uint64_t handle);
/* `file` NULL: none that is known. */
void ft_levels_file_opened(enum ft_levels_kind kind, uint64_t handle, const char *file);
/* Our own copy of a path; NULL: no more of them are kept. */
const char *ft_levels_file_keep(const char *path);

#endif
