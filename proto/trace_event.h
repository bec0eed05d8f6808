// SPDX-License-Identifier: MIT
//
// One event, and the small fixed vocabularies of a trace.
//
// A struct ft_event is what the daemon hands to the trace writer and what the
// reader gives back: one finished call of the program, or one span, instant or
// counter of the application. Every enum below has one table; its names are
// those that reports print (`gaps`, `dropped_by_cause`, `kind`, `source`), and
// its numbers are those in the file: append only, never reuse.
#ifndef FT_PROTO_TRACE_EVENT_H
#define FT_PROTO_TRACE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/annotate.h"

// What could not be seen (enum ft_gap).
#define FT_GAPS(X)                        \
    X(1, NOT_ATTACHED, "not_attached")    \
    X(2, NOT_ADMITTED, "not_admitted")    \
    X(3, SANDBOX, "sandbox")              \
    X(4, RLIMIT, "rlimit")                \
    X(5, STATIC, "static")                \
    X(6, SECURE_EXEC, "secure_exec")      \
    X(7, FOREIGN_ELF, "foreign_elf")      \
    X(8, ENV_CLEANED, "env_cleaned")      \
    X(9, CONTAINER, "container")          \
    X(10, IO_URING, "io_uring")           \
    X(11, RAW_SYSCALL, "raw_syscall")     \
    X(12, DEEPBIND, "deepbind")           \
    X(13, CLONE_SHARED, "clone_shared")   \
    X(14, STILL_RUNNING, "still_running") \
    X(15, DAEMON_STOPPED, "daemon_stopped")

// Why events that happened are not in the file (enum ft_cause). Dense from 0:
// usable as an array index below FT_CAUSE_COUNT.
#define FT_CAUSES(X)                   \
    X(0, RING_FULL, "ring_full")       \
    X(1, TORN, "torn")                 \
    X(2, DAEMON_LIMIT, "daemon_limit") \
    X(3, DISK_FULL, "disk_full")       \
    X(4, CAPPED, "capped")             \
    X(5, CORRUPT, "corrupt")

// What a file is (enum ft_file_kind).
#define FT_FILE_KINDS(X)         \
    X(0, UNKNOWN, "unknown")     \
    X(1, REGULAR, "regular")     \
    X(2, DIRECTORY, "directory") \
    X(3, BLOCK, "block")         \
    X(4, CHAR, "char")           \
    X(5, TTY, "tty")             \
    X(6, PIPE, "pipe")           \
    X(7, SOCKET, "socket")       \
    X(8, MEMFD, "memfd")         \
    X(9, MEMORY, "memory")       \
    X(10, OTHER, "other") // eventfd, epoll, timerfd and their like

// Where a file's path comes from (enum ft_path_source).
#define FT_PATH_SOURCES(X)   \
    X(0, LEXICAL, "lexical") \
    X(1, KERNEL, "kernel")

// How a process's job was found (enum ft_job_source).
#define FT_JOB_SOURCES(X)            \
    X(0, UNKNOWN, "unknown")         \
    X(1, CGROUP, "cgroup")           \
    X(2, ENVIRONMENT, "environment") \
    X(3, SESSION, "session")

// How a process ended (enum ft_exit), and who said so (enum ft_exit_source).
#define FT_EXITS(X)        \
    X(0, NONE, "none")     \
    X(1, CODE, "code")     \
    X(2, SIGNAL, "signal") \
    X(3, EXEC, "exec")

#define FT_EXIT_SOURCES(X)       \
    X(0, UNKNOWN, "unknown")     \
    X(1, PIDFD, "pidfd")         \
    X(2, TASKSTATS, "taskstats") \
    X(3, PARENT, "parent")

// What kind of event a row is (enum ft_event_kind).
#define FT_EVENT_KINDS(X)    \
    X(0, CALL, "call")       \
    X(1, SPAN, "span")       \
    X(2, INSTANT, "instant") \
    X(3, COUNTER, "counter")

// Classes of file that aggregates are kept apart for (enum ft_file_class):
// `read`, `write` and `metadata` of a summary count STORAGE alone.
#define FT_FILE_CLASSES(X)                                        \
    X(0, NONE, "none")       /* the event has no file */          \
    X(1, STORAGE, "storage") /* regular, directory, block */      \
    X(2, OTHER, "other")     /* every other kind that is known */ \
    X(3, UNKNOWN, "unknown") /* kind unknown, or the file's record is missing */

#define FT_GAP_ENUM(value, name, text) FT_GAP_##name = value,
enum ft_gap { FT_GAPS(FT_GAP_ENUM) FT_GAP_END };
#undef FT_GAP_ENUM
#define FT_CAUSE_ENUM(value, name, text) FT_CAUSE_##name = value,
enum ft_cause { FT_CAUSES(FT_CAUSE_ENUM) FT_CAUSE_COUNT };
#undef FT_CAUSE_ENUM
#define FT_FILE_KIND_ENUM(value, name, text) FT_FILE_KIND_##name = value,
enum ft_file_kind { FT_FILE_KINDS(FT_FILE_KIND_ENUM) FT_FILE_KIND_COUNT };
#undef FT_FILE_KIND_ENUM
#define FT_PATH_SOURCE_ENUM(value, name, text) FT_PATH_SOURCE_##name = value,
enum ft_path_source { FT_PATH_SOURCES(FT_PATH_SOURCE_ENUM) FT_PATH_SOURCE_COUNT };
#undef FT_PATH_SOURCE_ENUM
#define FT_JOB_SOURCE_ENUM(value, name, text) FT_JOB_SOURCE_##name = value,
enum ft_job_source { FT_JOB_SOURCES(FT_JOB_SOURCE_ENUM) FT_JOB_SOURCE_COUNT };
#undef FT_JOB_SOURCE_ENUM
#define FT_EXIT_ENUM(value, name, text) FT_EXIT_##name = value,
enum ft_exit { FT_EXITS(FT_EXIT_ENUM) FT_EXIT_COUNT };
#undef FT_EXIT_ENUM
#define FT_EXIT_SOURCE_ENUM(value, name, text) FT_EXIT_SOURCE_##name = value,
enum ft_exit_source { FT_EXIT_SOURCES(FT_EXIT_SOURCE_ENUM) FT_EXIT_SOURCE_COUNT };
#undef FT_EXIT_SOURCE_ENUM
#define FT_EVENT_KIND_ENUM(value, name, text) FT_EVENT_##name = value,
enum ft_event_kind { FT_EVENT_KINDS(FT_EVENT_KIND_ENUM) FT_EVENT_KIND_COUNT };
#undef FT_EVENT_KIND_ENUM
#define FT_FILE_CLASS_ENUM(value, name, text) FT_FILE_CLASS_##name = value,
enum ft_file_class { FT_FILE_CLASSES(FT_FILE_CLASS_ENUM) FT_FILE_CLASS_COUNT };
#undef FT_FILE_CLASS_ENUM

// Names of the values above; "unknown" for a number that this build does not
// know (a newer file), never NULL. Thread safe.
const char *ft_gap_name(unsigned gap);
// Reasons of ENV_CLEANED that readers tell from a cleaned environment.
#define FT_GAP_REASON_OFF "FLOWTAP or FLOWTAP_MODE of its environment turns tracing off"
#define FT_GAP_REASON_NO_ROOM "executed without our variables: they did not fit beside its own"
const char *ft_cause_name(unsigned cause);
const char *ft_file_kind_name(unsigned kind);
const char *ft_path_source_name(unsigned source);
const char *ft_job_source_name(unsigned source);
const char *ft_exit_name(unsigned exit);
const char *ft_exit_source_name(unsigned source);
const char *ft_event_kind_name(unsigned kind);
const char *ft_file_class_name(unsigned file_class);

// enum ft_file_class of an enum ft_file_kind.
unsigned ft_file_kind_class(unsigned kind);

// Which of the optional fields of an event are known (ft_event.has).
enum {
    FT_HAS_SIZE = 1 << 0,
    FT_HAS_OFFSET = 1 << 1,
    FT_HAS_RESULT = 1 << 2,
    FT_HAS_BYTES = 1 << 3,
    FT_HAS_ARG = 1 << 4,
    FT_HAS_ERR = 1 << 5,
};

// ft_event.flags; the file keeps all 16 bits, also those not listed.
enum {
    FT_EVENT_F_COARSE_TIME = 1 << 0, // clock was CLOCK_MONOTONIC_COARSE
    FT_EVENT_F_RACED = 1 << 1,       // the descriptor changed under the call
    FT_EVENT_F_PATH_CUT = 1 << 2,    // the path is a prefix of the real one
    FT_EVENT_F_VFORK_CHILD = 1 << 3, // made by a vfork child in its parent's thread
    FT_EVENT_F_CAPPED = 1 << 4,      // of sums: the events are dropped ones of a job that passed its cap
    FT_EVENT_F_DOUBLE = 1 << 5,      // a counter's value is a double: arg holds its bits
    FT_EVENT_F_ARGS_CUT = 1 << 6,    // texts of arguments were shortened, or arguments left out
};

// An argument of an application event.
struct ft_event_arg {
    uint32_t key;   // NAME id
    uint8_t type;   // enum ft_arg_type
    uint64_t value; // the integer (two's complement), the double's bits, or a NAME id (0: empty)
};

// Call ids are below this in files of format major 1.
#define FT_TRACE_CALL_MAX 1024

// A field whose bit in `has` is clear holds 0 when it comes from the reader and
// is not looked at by the writer.
struct ft_event {
    int64_t start_ns;  // CLOCK_MONOTONIC of the file's host, ns
    int64_t dur_ns;    // >= 0
    int64_t size;      // as asked for, bytes
    int64_t offset;    // in the file, bytes
    int64_t result;    // as returned; of an asynchronous span: tid of the thread that began it
    uint64_t bytes;    // what moved
    uint64_t arg;      // flags, whence, ...: the call's own argument word; a counter's value; an asynchronous span's id
    uint32_t thread;   // file-local id of a THREAD record
    uint32_t file;     // file-local id of a FILE record, 0 none
    uint32_t file2;    // second file (rename, link, transfers), 0 none
    int32_t fd;        // -1 none
    int32_t err;       // errno, 0 ok
    uint32_t context;  // file-local id of a CONTEXT record, 0 none
    uint32_t name;     // NAME id, application events only, else 0
    uint32_t category; // NAME id, application events only, else 0
    uint16_t call;     // call table id; 0 for application events
    uint16_t flags;    // FT_EVENT_F_*
    uint8_t kind;      // enum ft_event_kind
    uint8_t has;       // FT_HAS_*
    // Application events: arguments. Where the first of them stands among those of the block's rows: what
    // ft_trace_writer_args() gave, what ft_rows.args is indexed with.
    uint8_t arg_count;
    uint32_t first_arg;
};

#endif
