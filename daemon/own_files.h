// SPDX-License-Identifier: MIT
//
// Which of the files in its folder are a private daemon's own: others write there, too. Their names stand line by line in
// a file that its starter holds (files_fd), and that outlives a kill.
#ifndef FT_DAEMON_OWN_FILES_H
#define FT_DAEMON_OWN_FILES_H

#include <stdbool.h>

struct ft_config;

// A trace file is about to have its name, so that a kill leaves none that is not in the list: who reads it skips names of
// no file. `path` is of any folder. Whether it was put into the list, where it was not yet.
bool ft_own_files_note(const struct ft_config *config, const char *path);
// The name that was put there last is not ours after all: somebody else has it.
void ft_own_files_withdraw(const struct ft_config *config, const char *path);

// All names, each ended by a newline but perhaps the last: a new string; NULL where there are none.
char *ft_own_files_read(const struct ft_config *config);

#endif
