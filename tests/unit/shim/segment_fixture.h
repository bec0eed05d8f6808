// SPDX-License-Identifier: MIT
/* A segment in this process's own memory, as the shim has one after attaching, and what was written into it. */
#ifndef FT_TEST_SEGMENT_FIXTURE_H
#define FT_TEST_SEGMENT_FIXTURE_H

#include "client/shim/shim.h"

/* Makes one of so many chunks; the calling thread has no line yet. */
void ft_fixture_make(uint32_t chunks);
void ft_fixture_remove(void);

/* For cmocka: one of 16 chunks, in which the calling thread has a line. */
int ft_fixture_setup(void **state);
int ft_fixture_teardown(void **state);

/*
 * Published records of one kind, in the order of chunks and slots; the first word of each. Returns how many there are,
 * at most `room` of them in `records`.
 */
size_t ft_fixture_records(unsigned kind, const uint64_t **records, size_t room);

#endif
