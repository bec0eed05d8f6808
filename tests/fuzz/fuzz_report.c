// SPDX-License-Identifier: MIT
//
// The commands that read traces, on any bytes: through the library, the filters and
// the reports, to what they print. The input is two files, as it is and with the crcs
// of what looks like frames put right; its last byte chooses the command.
// Nothing may crash, overflow, leak or run on; and a command that is done has said so
// with one of its exit statuses.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/cli/cli.h"
#include "frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { WORDS_MAX = 8 };

static char folder[] = "/tmp/fuzz_report.XXXXXX";
static char raw[sizeof(folder) + 8], whole[sizeof(folder) + 8];

// What stands for a path: R the input as it is, W with right crcs, B the folder of both.
static const struct {
    const struct ft_command *command;
    const char *words[WORDS_MAX];
} lines[] = {
    {&ft_command_summary, {"W"}},
    {&ft_command_summary, {"--json", "B"}},
    {&ft_command_summary, {"--quick", "W"}},
    {&ft_command_summary, {"--quick", "--json", "W"}},
    {&ft_command_summary, {"--by", "pid,file,tag.epoch", "--json", "W"}},
    {&ft_command_summary, {"--where", "size<4096 && dur>1us && path~\"*.h5\" || ! (errno = 0)", "W"}},
    {&ft_command_files, {"W"}},
    {&ft_command_files, {"--json", "--sort", "path", "W"}},
    {&ft_command_processes, {"W"}},
    {&ft_command_processes, {"--json", "B"}},
    {&ft_command_timeline, {"W"}},
    {&ft_command_timeline, {"--json", "W"}},
    {&ft_command_timeline, {"--bins", "3", "W"}},
    {&ft_command_events, {"W"}},
    {&ft_command_events, {"--format", "json", "W"}},
    {&ft_command_events, {"--format", "csv", "--where", "offset>=0 || tag.step != 1", "W"}},
    {&ft_command_events, {"--by", "name,tag.epoch", "W"}},
    {&ft_command_events, {"--sort", "-dur", "--top", "5", "W"}},
    {&ft_command_diff, {"R", "W"}},
    {&ft_command_diff, {"--json", "W", "R"}},
    {&ft_command_diagnose, {"W"}},
    {&ft_command_diagnose, {"--json", "B"}},
    {&ft_command_info, {"W"}},
    {&ft_command_info, {"--json", "W"}},
    {&ft_command_verify, {"B"}},
    {&ft_command_verify, {"--json", "W"}},
    {&ft_command_doctor, {"--trace", "W"}},
};

enum { LINES = sizeof(lines) / sizeof(lines[0]) };

static void remove_files(void)
{
    unlink(raw);
    unlink(whole);
    rmdir(folder);
}

// Reports and messages go nowhere; libFuzzer and the sanitizers have their own ways to the terminal.
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    FILE *nowhere = fopen("/dev/null", "w");
    if (!nowhere || !mkdtemp(folder) || setenv("FLOWTAP_READ_MEMORY", "64M", 1) < 0)
        abort();
    snprintf(raw, sizeof(raw), "%s/r.flow", folder);
    snprintf(whole, sizeof(whole), "%s/w.flow", folder);
    atexit(remove_files);
    stdout = stderr = nowhere;
    return 0;
}

static void write_file(const char *path, const uint8_t *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd) < 0)
        abort();
}

static void run_line(size_t line)
{
    char name[32], words[WORDS_MAX][96], *argv[WORDS_MAX + 2] = {name};
    int argc = 1;
    snprintf(name, sizeof(name), "%s", lines[line].command->name);
    for (int i = 0; i < WORDS_MAX && lines[line].words[i]; i++) {
        const char *word = lines[line].words[i];
        const char *path = strcmp(word, "R") == 0   ? raw
                           : strcmp(word, "W") == 0 ? whole
                           : strcmp(word, "B") == 0 ? folder
                                                    : word;
        snprintf(words[i], sizeof(words[i]), "%s", path);
        argv[argc++] = words[i];
    }
    int status = ft_options_run(lines[line].command, argc, argv);
    if (status != FT_STATUS_DONE && status != FT_STATUS_FAILED)
        abort(); // 2 would say that this table is wrong
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    uint8_t *fixed = malloc(--size);
    if (!fixed)
        return 0;
    memcpy(fixed, data, size);
    fix_crcs(fixed, size);
    write_file(raw, data, size);
    write_file(whole, fixed, size);
    free(fixed);
    run_line(data[size] % LINES);
    return 0;
}
