// SPDX-License-Identifier: MIT
/*
 * What a function is called while a program runs: where its code lies.
 *
 *   function PATH+0xADDRESS (build-id HEX)
 *
 * PATH is that of the object's file, ADDRESS the function's as the file has it; without a build-id, "(no build-id)". Who
 * reads the trace finds the symbol in that file if its build-id is still the same (client/cli/functions.h).
 */
#ifndef FT_FUNCTIONS_NAME_H
#define FT_FUNCTIONS_NAME_H

/* Once, before any other. */
void ft_function_names_begin(void);

/* Stays where it is as long as the process; any thread, any signal handler. */
const char *ft_function_name(const void *function);

#endif
