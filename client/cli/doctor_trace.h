// SPDX-License-Identifier: MIT
#ifndef FT_CLI_DOCTOR_TRACE_H
#define FT_CLI_DOCTOR_TRACE_H

#include "client/cli/doctor.h"
#include "proto/trace_set.h"

/* Names the variables of traced processes that were ignored or misspelled; patterns that matched nothing. */
void ft_doctor_trace_settings(struct ft_doctor *doctor, const struct ft_trace_set *set, bool has_files);

#endif
