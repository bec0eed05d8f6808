// SPDX-License-Identifier: MIT
//
// What the ids of one segment stand for: files (a path, kind, device, inode) and strings of the application.
//
// DEFINE records of all threads are read before the calls of any, so a path is joined to its base when it is first
// used. A PATH name goes after the call that used it, unless that call made it a descriptor's; what a descriptor was is
// kept, and when the table is full names of closed descriptors go first. Who passes FT_NAMES_MAX loses names, not
// events.
//
// Belongs to the thread that works on the process.
#ifndef FT_DAEMON_NAMES_H
#define FT_DAEMON_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/ring.h"

enum { FT_NAMES_MAX = 65536, FT_NAMES_BYTES_MAX = 16 << 20 };

struct ft_name {
    uint32_t id;       // 0: the slot is empty
    uint32_t base;     // until joined: id of what a relative path is relative to
    uint32_t trace_id; // FILE (strings: NAME) id in the trace file of `trace_part`, 0 not there yet
    uint32_t trace_part;
    uint32_t closed_in; // block in which a close named it, 0 none
    uint16_t bytes, bytes_got;
    char *text;
    union {
        uint64_t device;
        uint64_t tag_ticks; // of a string
    };
    uint64_t inode, birth; // with has_birth as in the trace (daemon/lives.h)
    uint8_t define;        // enum ft_define
    uint8_t kind;          // enum ft_file_kind_wire
    bool is_joined, is_cut, is_kept, has_inode, has_birth;
    bool is_tag_of_process; // and has changed the process's tags already: they hold from `tag_ticks` on
    bool is_used;           // by a call; one that is not kept goes with the block
    bool is_told;           // it is in the file, for a successor
};

struct ft_names {
    struct ft_name *slots;
    uint32_t room, count; // room is a power of two
    uint32_t seed;
    uint32_t hand; // where eviction goes on
    size_t text_bytes;
    uint64_t lost;
    uint32_t *used_paths; // PATH names that a call of this block used
    uint32_t used_count, used_room;
    uint32_t *fresh; // defined, learned of or closed since they were told to a successor
    uint32_t fresh_count, fresh_room;
    bool is_all_fresh; // they were too many to list
};

struct ft_trace_known;

void ft_names_init(struct ft_names *names);
void ft_names_fini(struct ft_names *names);

// One DEFINE record of `slots` slots; the same one may come again. -EBADMSG where its lengths contradict each other.
int ft_names_define(struct ft_names *names, const uint64_t *record, unsigned slots);

// The working directory at attach, from Hello.
void ft_names_set_cwd(struct ft_names *names, const char *path, size_t bytes);

// NULL where nobody defined it. Valid until the next definition or ft_names_end_block().
struct ft_name *ft_names_find(const struct ft_names *names, uint32_t id);

// The path with its bases before it, joined once. False where a base is missing.
bool ft_names_join(struct ft_names *names, struct ft_name *name);

// A call used this PATH name and it did not become a descriptor's.
void ft_names_note_used(struct ft_names *names, struct ft_name *name);

// What is to be told to a successor: this name changed; the ith of those that did, NULL where it is not worth telling;
// all were told.
void ft_names_note_fresh(struct ft_names *names, uint32_t id);
struct ft_name *ft_names_fresh(const struct ft_names *names, uint32_t i);
uint32_t ft_names_fresh_count(const struct ft_names *names);
void ft_names_note_told(struct ft_names *names);

// What a daemon before us knew.
void ft_names_restore(struct ft_names *names, const struct ft_trace_known *known);

// Drops the used PATH names; makes room where there are too many.
void ft_names_end_block(struct ft_names *names, uint32_t block);

// Drops all names and gives their memory back. Returns how many.
uint64_t ft_names_forget(struct ft_names *names);

// Bytes of memory held.
size_t ft_names_memory(const struct ft_names *names);

#endif
