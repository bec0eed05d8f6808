// SPDX-License-Identifier: MIT
/*
 * How an event counts. One rule for block heads and for rows.
 *
 * read, write, metadata: calls of POSIX and STDIO on regular files, directories and block devices. A file whose kind is
 * not known (a path that could not be opened, an open under a seccomp filter) counts with them, a call without any file
 * (a bad descriptor) nowhere. mmap and its kin count as metadata: they move no bytes by themselves.
 * other_io: what reads or writes pipes, sockets, terminals, character devices, memfds and memory.
 * copy_file_range, sendfile and splice count as a read where the source is a file, as a write where the target is one,
 * as other_io where neither is.
 */
#ifndef FT_CLI_ANALYSIS_COUNT_H
#define FT_CLI_ANALYSIS_COUNT_H

#include <stdbool.h>
#include <stdint.h>

enum {
    FT_COUNT_READ = 1,
    FT_COUNT_WRITE = 2,
    FT_COUNT_METADATA = 4,
    FT_COUNT_OTHER_IO = 8,
    FT_COUNT_IO = FT_COUNT_READ | FT_COUNT_WRITE | FT_COUNT_METADATA,
};

/* Mask of FT_COUNT_*. `group` is enum ft_group, the classes enum ft_file_class. */
unsigned ft_count_of(unsigned group, unsigned file_class, unsigned file2_class);

/* Whether a category is counted in these figures at all (POSIX, STDIO); MPIIO and the like stand beside them. */
bool ft_count_has_category(const char *category);

/*
 * What the bytes of a call that counts as metadata are: FT_COUNT_WRITE for output that earlier calls left in a stream's
 * buffer (fflush, fclose and the like: characters that inlined putc put there are seen no earlier), FT_COUNT_READ for
 * what a stream that was repositioned read ahead, 0 for calls that move nothing.
 */
unsigned ft_count_of_stream(const char *name, const char *category, unsigned group);

/* Whether the call opens a file for the program. */
bool ft_count_is_open(const char *name);

/*
 * How often the kernel's rchar + wchar count a byte that the call moved: once for read(2), write(2) and their kin on
 * whatever file, twice for sendfile and copy_file_range (both sides), never for sockets' own calls, splice and
 * what only starts or awaits asynchronous I/O; once for aio_return, which tells what libc's threads did.
 */
unsigned ft_count_kernel_sides(const char *name, unsigned group);

/*
 * Whether the call tells the bytes of a request that went on without it: they are read or written, never both, and none
 * of the call's time is theirs.
 */
bool ft_count_is_late(const char *name, unsigned group);

#endif
