// SPDX-License-Identifier: MIT
//
// Which of the files in its folder are a private daemon's own: others write there, too. Their names stand line by line in
// a file that its starter holds (files_fd), and that outlives a kill.
#ifndef FT_DAEMON_OWN_FILES_H
#define FT_DAEMON_OWN_FILES_H

struct ft_config;

// A trace file has its name from now on; `path` is of any folder.
void ft_own_files_note(const struct ft_config *config, const char *path);

// All names, each ended by a newline but perhaps the last: a new string; NULL where there are none.
char *ft_own_files_read(const struct ft_config *config);

#endif
