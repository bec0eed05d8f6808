// SPDX-License-Identifier: MIT
/*
 * Names of functions that a trace knows by where their code lay (client/functions/name.h): the symbol, where the file that
 * it names is here with the same build-id, else the file's name and the address. C++ symbols are shown as in the source where
 * the C++ library is here.
 */
#ifndef FT_CLI_FUNCTIONS_H
#define FT_CLI_FUNCTIONS_H

#include "proto/trace_reader.h"

/*
 * For ft_trace_reader_options.rename: the text that stands for a name, `name` itself where that is no function. What it
 * returns stays until the end of the program. One thread at a time.
 */
struct ft_bytes ft_functions_rename(void *context, struct ft_bytes name);

#endif
