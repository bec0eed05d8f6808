// SPDX-License-Identifier: MIT
//
// What is in the spool: one entry for each folder <spool_dir>/<uid>/<job>. Any thread; it reads folders, heads of files and
// their ends, and of files that a daemon before us left unclosed the heads of their blocks, once.
#ifndef FT_DAEMON_SPOOL_H
#define FT_DAEMON_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/identity.h"

enum { FT_SPOOL_PATH_MAX = 3600 };

// Folders of this name are on their way out: nobody looks at them.
#define FT_SPOOL_REMOVED_PREFIX ".removed-"

struct ft_spool_job {
    uint32_t uid;
    char folder[256];                  // last component
    char job[FT_IDENTITY_JOB_MAX + 1]; // as the header of its newest file says; the folder where there is none
    uint32_t files, open_files;        // open: not closed in order, or not yet
    uint64_t bytes, events;      // events: also as sums; not of a file that is written now, or is too large unclosed
    uint64_t inode;              // of one that runs: the file that is written now, whose events it has; 0 none
    int64_t start_ns, newest_ns; // CLOCK_REALTIME: of its first file's header, of its last write
    bool is_running;             // for who lists them to say
};

struct ft_spool_list {
    struct ft_spool_job *jobs;
    size_t count, room;
};

// All jobs of one user, or of all where uid is UINT32_MAX, with what their files tell, beside those that run, where these
// are given (else NULL). 0 or -errno; release with ft_spool_list_fini() in any case.
int ft_spool_list(const char *spool_dir, uint32_t uid, const struct ft_spool_list *running, struct ft_spool_list *out);
void ft_spool_list_fini(struct ft_spool_list *list);

// A zeroed entry behind the others; NULL where there is no memory. It moves when the next one is added.
struct ft_spool_job *ft_spool_add(struct ft_spool_list *list);

struct ft_spool_job *ft_spool_find(const struct ft_spool_list *list, uint32_t uid, const char *folder);

// Files, bytes and newest write of one folder, without what is inside them. False where it is not there.
bool ft_spool_measure(const char *path, struct ft_spool_job *job);

// Whether a directory's entry is a trace file by its name.
bool ft_spool_is_trace(const char *name);

#endif
