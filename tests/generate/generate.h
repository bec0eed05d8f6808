// SPDX-License-Identifier: MIT
//
// Makes traces as real jobs leave them, through the real writer, of any size and the same for the same seed: for tests
// of the readers and for `make bench`. A model says what each thread does next; the rest is here. Errors end the program.
#ifndef FT_TESTS_GENERATE_H
#define FT_TESTS_GENERATE_H

#include "proto/calls.h"
#include "proto/trace_writer.h"

#define GEN_DROPPED_CALLS 16
#define GEN_SPECIALS 256
#define GEN_START_NS INT64_C(1000000000000) // of the first threads, about

struct gen_options {
    uint64_t events; // emitted, of all hosts
    uint64_t seed;
    uint64_t files;            // of the data set; 0: in proportion to the events
    uint64_t dropped_permille; // of the events, in bursts
    uint64_t hosts, host;      // how many, and which of them this trace is of
};

struct gen_process {
    struct ft_trace_process record;
    uint32_t id;
    struct ft_trace_dropped dropped_calls[GEN_DROPPED_CALLS];
};

// A thread with its own clock. `role` and what follows is the model's.
struct gen_thread {
    uint32_t id;
    struct gen_process *process;
    int64_t now_ns;
    uint64_t random;
    uint64_t made; // events since its process began
    uint32_t context;
    unsigned role, index;
    uint64_t unit; // how many units it has done
    uint64_t position;
    int64_t since_ns;
};

struct gen_trace {
    struct gen_options options;
    const struct gen_model *model;
    struct ft_trace_writer *writer;
    int fd;                      // of the file; -1: in memory
    const char *path;            // likewise
    uint64_t emitted, emit_max;  // of this host
    int64_t step_ns;             // of the clock
    const int64_t *durs, *gaps;  // measured ones of a call of 1 µs, `sample_count` of each; NULL: drawn
    size_t sample, sample_count; // a power of two
    struct ft_event *collected;  // where set, events go here instead of into the writer
    size_t collected_count;
    struct gen_thread *threads;
    size_t thread_count;
    uint32_t next_pid;
    uint32_t *files; // ids of the data set's files, 0 until one is used
    size_t file_count;
    const char *folder_name, *file_name;
    uint32_t specials[GEN_SPECIALS]; // ids of other files, by the model's own numbers
    uint32_t epoch_contexts[64];
};

struct gen_model {
    const char *name;
    const char *what;
    void (*begin)(struct gen_trace *trace);                           // makes threads, says how many files
    void (*step)(struct gen_trace *trace, struct gen_thread *thread); // some events of one thread
};
extern const struct gen_model gen_models[];
extern const size_t gen_model_count;
const struct gen_model *gen_model_find(const char *name); // NULL where there is none

_Noreturn void gen_die(const char *what);
_Noreturn void gen_die_of(const char *path); // with errno's reason

// Makes a host's trace. `path`: of the file; NULL: it stays in the writer, which is then the caller's.
void gen_trace_make(struct gen_trace *trace, const struct gen_model *model, const struct gen_options *options,
                    const char *path);
void gen_trace_host_name(const struct gen_options *options, char *out, size_t bytes);

// For the models.

uint64_t gen_random(uint64_t *state);
uint64_t gen_mix(uint64_t a, uint64_t b);
// About log-normal: half of the values below `median`; a third of them off by more than `spread` 256ths of an octave.
uint64_t gen_lognormal(uint64_t *state, uint64_t median, unsigned spread);

// rank -1: none; parent NULL: none.
struct gen_process *gen_process_new(struct gen_trace *trace, const struct gen_process *parent, const char *exe,
                                    int rank, int64_t start_ns);
struct gen_thread *gen_thread_new(struct gen_trace *trace, struct gen_process *process, unsigned role, unsigned index);
// The thread's process ends, and the thread goes on as the first one of a new process.
void gen_thread_restart(struct gen_trace *trace, struct gen_thread *thread, const char *exe);
// How many files the data set has, where nobody said, and their names: <folder>0000/<file>00000000.
void gen_set_files(struct gen_trace *trace, uint64_t events_per_file, uint64_t most, const char *folder,
                   const char *file);

uint32_t gen_file(struct gen_trace *trace, const char *path, unsigned kind, uint64_t inode);
uint32_t gen_data_file(struct gen_trace *trace, size_t i); // file i of the data set
uint32_t gen_context(struct gen_trace *trace, const char *key, uint64_t value);

// An event that takes about `median_ns`; advances the thread's clock. Ignored where the trace is as long as it shall be.
void gen_emit(struct gen_trace *trace, struct gen_thread *thread, struct ft_event event, int64_t median_ns);
// Ordinary calls: without size and offset; with both (offset -1: unknown); a failed one.
void gen_call(struct gen_trace *trace, struct gen_thread *thread, unsigned call, uint32_t file, int fd, int64_t result,
              int64_t median_ns);
void gen_open(struct gen_trace *trace, struct gen_thread *thread, uint32_t file, int flags, int fd);
void gen_transfer(struct gen_trace *trace, struct gen_thread *thread, unsigned call, uint32_t file, int fd,
                  int64_t size, int64_t offset, int64_t got);
void gen_fail(struct gen_trace *trace, struct gen_thread *thread, unsigned call, uint32_t file, int err);
// A span from `since_ns` until the thread's now; an application's counter.
void gen_span(struct gen_trace *trace, struct gen_thread *thread, const char *category, const char *name,
              int64_t since_ns);
void gen_counter(struct gen_trace *trace, struct gen_thread *thread, const char *name, uint64_t value);

void gen_training_begin(struct gen_trace *trace);
void gen_training_step(struct gen_trace *trace, struct gen_thread *thread);
void gen_checkpoint_begin(struct gen_trace *trace);
void gen_checkpoint_step(struct gen_trace *trace, struct gen_thread *thread);
void gen_metadata_begin(struct gen_trace *trace);
void gen_metadata_step(struct gen_trace *trace, struct gen_thread *thread);
void gen_random_begin(struct gen_trace *trace);
void gen_random_step(struct gen_trace *trace, struct gen_thread *thread);
void gen_single_begin(struct gen_trace *trace);
void gen_same_step(struct gen_trace *trace, struct gen_thread *thread);
void gen_sequential_step(struct gen_trace *trace, struct gen_thread *thread);
void gen_serial_step(struct gen_trace *trace, struct gen_thread *thread);
void gen_peers_begin(struct gen_trace *trace);
void gen_even_step(struct gen_trace *trace, struct gen_thread *thread);
void gen_straggler_step(struct gen_trace *trace, struct gen_thread *thread);
void gen_lone_step(struct gen_trace *trace, struct gen_thread *thread);
void gen_tar_step(struct gen_trace *trace, struct gen_thread *thread);

#endif
