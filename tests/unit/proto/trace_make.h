// SPDX-License-Identifier: MIT
//
// Traces for the tests.
#ifndef FT_TEST_TRACE_MAKE_H
#define FT_TEST_TRACE_MAKE_H

#include "proto/trace_reader.h"
#include "proto/trace_writer.h"

// Bytes of a file; free() data.
struct made {
    uint8_t *data;
    size_t len;
};

// All that a writer has not given away yet, consumed.
struct made take(struct ft_trace_writer *writer);

// A header with every field set.
struct ft_trace_header full_header(void);
// A process with every field set; its ids are 0.
struct ft_trace_process full_process(void);

// A file of three blocks with records of each kind. `events`, if not NULL, takes
// the rows of all blocks in the order in which a reader gives them; at least
// SMALL_TRACE_EVENTS of them fit.
#define SMALL_TRACE_EVENTS 300
struct made small_trace(struct ft_event *events, size_t *event_count);

// A writer with one process, two threads (1, 2), four files (1 ... 4, of kinds
// regular, pipe, directory, unknown), a context (1) and names (among them 1, 2).
struct ft_trace_writer *ready_writer(void);
// The same of a part of its own.
struct ft_trace_writer *ready_writer_of(uint32_t part);

// A reader of a file in which nothing is wrong.
struct ft_trace_reader *open_made(struct made made);

// xorshift64*; the state must not be 0.
uint64_t next_random(uint64_t *state);
// Numbers of every size, extremes among them.
uint64_t any_number(uint64_t *state);
// An event with any values that ready_writer() accepts.
struct ft_event any_event(uint64_t *state);

void assert_event_equal(const struct ft_event *got, const struct ft_event *wanted);

#endif
