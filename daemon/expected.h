// SPDX-License-Identifier: MIT
//
// The list of what is expected to attach: a part of daemon/children.h, for its own files.
#ifndef FT_DAEMON_EXPECTED_H
#define FT_DAEMON_EXPECTED_H

#include "daemon/children.h"

// A child that attaches at all has usually done so long before; what it waits for here is its admission.
#define FT_EXPECTED_PATIENCE_NS INT64_C(1000000000)

// The image that it attached as; NULL: it did not.
const struct ft_seen_pid *ft_expected_find_attached(const struct ft_children *children,
                                                    const struct ft_children_expected *one);

// A copy of what is given with that path goes into the list. NULL: it is full.
struct ft_children_expected *ft_expected_add(struct ft_children *children, const struct ft_children_expected *given,
                                             struct ft_bytes path);
bool ft_expected_is_known(const struct ft_children *children, uint32_t pid, enum ft_children_way way, uint64_t parent);
// Takes *link out of the list.
void ft_expected_forget(struct ft_children *children, struct ft_children_expected **link);

// Tells a successor of it.
void ft_expected_put(const struct ft_children_expected *one, struct ft_trace_writer *writer);

// `writer` may be NULL: there is no file.
void ft_expected_put_gap(struct ft_trace_writer *writer, const struct ft_children_expected *one,
                         struct ft_exe_verdict verdict, int64_t now_ns);

#endif
