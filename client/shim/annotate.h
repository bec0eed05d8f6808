// SPDX-License-Identifier: MIT
/* What the application says of itself (flowtap.h): spans, instants, counters. */
#ifndef FT_SHIM_ANNOTATE_H
#define FT_SHIM_ANNOTATE_H

#include "proto/annotate.h"

/* Of an asynchronous span that ends. */
struct ft_annotate_async {
    uint64_t id;
    uint32_t tid;            /* of the thread that began it */
    uint32_t name, category; /* string ids */
};

/* Writes the event, which ended at `end` (ticks); `async` (which has the names then) may be NULL. The caller has entered. */
void ft_annotate_write(const struct ft_annotate_event *event, const struct ft_annotate_async *async, uint64_t end);

/* An event that there was no place for. */
void ft_annotate_drop(void);

/* 1: a call of the application is to be recorded; tags that waited are told. */
int ft_annotate_enter(void);

/* annotate_async.c */
void ft_async_begin(uint64_t id, const char *category, const char *name);
void ft_async_end(uint64_t id, const struct ft_annotate_arg *args, uint32_t arg_count);
/* In a forked child: what its parent began is its parent's. */
void ft_async_forget(void);

/* Not 0 once nothing will be recorded in this process any more. */
extern uint8_t ft_annotate_is_off;

#endif
