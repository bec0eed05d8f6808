// SPDX-License-Identifier: MIT
/*
 * Levels of libraries: spans of calls to functions of MPI-IO, HDF5, NetCDF and of libraries that the user names, of any
 * signature. The way of such a call:
 *
 * 1. levels_patch.c has put the address of the function's stub (levels_stubs.S) into the slot of the caller's offset table.
 * 2. The stub tells its number; ft_levels_begin takes a free place of ft_levels_kept, keeps the return address there,
 *    puts the address of the place's exit stub in its stead, and the call goes on to the function.
 * 3. The function returns to the exit stub; ft_levels_end frees the place and records the span; the call goes on where
 *    it came from.
 *
 * A place belongs to its call, not to a thread or a depth of the stack: so calls that switch stacks, end on another
 * thread or never end do no harm. What never ends (longjmp, an exception, the thread's end) is no event, as with calls
 * of libc. Its place is free again once the word of the stack where the exit stub's address stood holds something else;
 * this is looked at when there is no free place. A call that finds none is let through, and is a dropped event.
 *
 * x86-64 without a shadow stack; elsewhere no slot is touched.
 */
#ifndef FT_SHIM_LEVELS_H
#define FT_SHIM_LEVELS_H

#include "client/shim/levels_ids.h"
#include "client/shim/object.h"
#include "proto/annotate.h"

#if defined(__x86_64__)
#define FT_LEVELS_ARE_HERE 1
#else
#define FT_LEVELS_ARE_HERE 0
#endif

enum {
    FT_LEVELS_INTEGERS = 6, /* arguments in registers */
    FT_LEVELS_LOOKED_AT = 7,
    FT_LEVELS_HELPERS = 4,
    FT_LEVELS_ARGS_MAX = 4
};

/* As levels_stubs.S saves them; `low` halves of vector registers. */
struct ft_levels_registers {
    uint64_t low[8][2];
    uint64_t integers[FT_LEVELS_INTEGERS]; /* rdi rsi rdx rcx r8 r9 */
    uint64_t r10, r11, rax;
};

struct ft_levels_kept {
    uint64_t address; /* where the call returns to */
    uint64_t *where;  /* the word of the stack that held it */
};

/* A function that is stood before. */
struct ft_levels_function {
    void *target;
    const char *name, *category;         /* our copies; category NULL: no span */
    const char *letters;                 /* what its arguments tell (levels_args.def); "" nothing */
    uint64_t helpers[FT_LEVELS_HELPERS]; /* addresses of functions of its library that are asked for more; 0: none */
    struct ft_object object;             /* that it belongs to; its pointers hold while its functions can be called */
    uint8_t kind;                        /* enum ft_levels_kind */
    uint8_t element_bytes;               /* of the typed ones of netCDF; 0: not known */
};

struct ft_levels_call {
    const struct ft_levels_function *function;
    const void *owner; /* the thread, by where its storage is */
    struct ft_annotate_mark mark;
    uint64_t integers[FT_LEVELS_LOOKED_AT]; /* the first arguments, as integers */
};

/* Hidden, so that their addresses are computed, not loaded: see ft_start_is_relocated. */
__attribute__((visibility("hidden"))) extern char ft_levels_entries[],
    ft_levels_exits[]; /* code: a stub each FT_LEVELS_STUB_BYTES */
extern struct ft_levels_kept ft_levels_kept[];
extern struct ft_levels_function *ft_levels_functions; /* FT_LEVELS_FUNCTIONS, by number of the stub */

/* Takes memory for some calls now (before a sandbox). */
void ft_levels_prepare(void);

/* levels.c. The function's stub, made where it is new; 0: there is no room for it. */
uint64_t ft_levels_stub(const struct ft_levels_function *function);
/* It was 0 for want of memory: another time there may be some. */
extern uint8_t ft_levels_lack_memory;

/* Our own copy of a text, for good; NULL: there is no room, or another thread is just making one. */
const char *ft_levels_keep(const char *text, size_t bytes);

/* levels_scan.c. Once the image has attached and everything it was started with is relocated. */
void ft_levels_start(void);
/* dlopen is about to be called: what it will bring is looked at later. */
void ft_levels_opening(void);
/* Looks at what this thread has opened since its last look; where it may not yet, that stays to be done. */
void ft_levels_loaded(void);

#endif
