// SPDX-License-Identifier: MIT
/*
 * Tags of threads and of the process. The daemon knows them from TAGS records; they are kept here too, for scopes that end
 * and for forked children, whose segment begins with those of the thread that forked and of the process.
 */
#ifndef FT_SHIM_TAGS_H
#define FT_SHIM_TAGS_H

#include "client/shim/shim.h"

/* "key=value"; what is longer, or more tags, is not set and counted as a setting that is ignored. */
enum { FT_TAG_BYTES = 254, FT_TAGS_MAX = FT_PAGE_BYTES / (FT_TAG_BYTES + 2) };

/* An empty value, or NULL, takes the tag away. */
void ft_tags_set(int is_process_wide, const char *key, const char *value);
/* The value into `value`; its length, -1 where it is not set. */
int ft_tags_get(int is_process_wide, const char *key, char *value, size_t room);
/* Writes again what found no slot. Called where ft_thread.tags_untold says so. */
void ft_tags_tell(void);

extern uint8_t ft_tags_are_set; /* any ever was; without, what follows does nothing and need not be called */

/* This thread has line `index` from here on: no tags of the one before. */
void ft_tags_start_thread(uint32_t index);
/* Takes the memory for this thread's and the process's now (before a sandbox). */
void ft_tags_prepare(void);
/* In a forked child, before it forgets who it was; and when it has a line again. */
void ft_tags_fork(void);
void ft_tags_inherit(void);

#endif
