// SPDX-License-Identifier: MIT
/* Descriptors that go to another process, or come from one, with a message (SCM_RIGHTS). */
#ifndef FT_SHIM_PASSED_H
#define FT_SHIM_PASSED_H

#include "client/shim/hot.h"

/* After the call succeeded: what was sent is moved by others too from now on, what came is named at first use. */
void ft_passed_note(const struct ft_args *args, struct ft_outcome *outcome);

#endif
