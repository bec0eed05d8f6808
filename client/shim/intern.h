// SPDX-License-Identifier: MIT
/*
 * Names of spans, categories and keys of arguments: each is defined once in a segment and then known by its text. No lock;
 * a handler or a fork at any place leaves it whole.
 */
#ifndef FT_SHIM_INTERN_H
#define FT_SHIM_INTERN_H

#include "client/shim/shim.h"

enum { FT_INTERN_TEXT_MAX = 512, FT_INTERN_MAX = 2048 };

/* String id of a text in this segment; 0 where it could not be defined now (the next use tries again), or it is empty. */
uint32_t ft_intern_text(const char *text);

#endif
