// SPDX-License-Identifier: MIT
/* What checks have in common. */
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/diagnose.h"
#include "client/cli/text.h"

bool ft_diagnose_is_share(uint64_t part, uint64_t whole, enum ft_diagnose_limit percent)
{
    return whole > 0 && (double)part * 100 >= (double)whole * (double)ft_diagnose_limit(percent);
}

uint64_t ft_diagnose_spared(uint64_t time_ns, uint64_t needed, uint64_t done)
{
    return needed < done ? (uint64_t)((double)time_ns * (double)(done - needed) / (double)done) : 0;
}

static uint64_t weight(const struct ft_diagnose_file *file)
{
    return file->time_ns;
}

void ft_diagnose_add_file(struct ft_diagnose_finding *finding, struct ft_diagnose_file file)
{
    size_t at = finding->file_count;
    if (at == FT_DIAGNOSE_FILES_MAX && weight(&file) <= weight(&finding->files[at - 1])) {
        return;
    }
    at -= at == FT_DIAGNOSE_FILES_MAX;
    for (; at > 0 && weight(&finding->files[at - 1]) < weight(&file); at--) {
        finding->files[at] = finding->files[at - 1];
    }
    finding->files[at] = file;
    finding->file_count += finding->file_count < FT_DIAGNOSE_FILES_MAX;
}

/* $'...', which bash, zsh, ksh and POSIX.1-2024's sh know: what a terminal must not get is \OOO there. */
static char *quote_controls(const char *text)
{
    char *word = ft_cli_alloc(4 * strlen(text) + 4), *at = word;
    at += sprintf(at, "$'");
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < 0x20 || byte >= 0x7f) {
            at += sprintf(at, "\\%03o", byte);
        } else {
            at += sprintf(at, byte == '\'' || byte == '\\' ? "\\%c" : "%c", byte);
        }
    }
    *at = '\'';
    return word;
}

static bool has_controls(const char *text)
{
    char *shown = ft_text_escape(text, strlen(text), FT_TEXT_SHOW);
    bool is_changed = strcmp(shown, text) != 0;
    free(shown);
    return is_changed;
}

char *ft_diagnose_shell_word(const char *text)
{
    if (has_controls(text)) {
        return quote_controls(text);
    }
    char *word = ft_cli_alloc(4 * strlen(text) + 3), *at = word;
    *at++ = '\'';
    for (; *text; text++) {
        if (*text == '\'') {
            memcpy(at, "'\\''", 4);
            at += 4;
        } else {
            *at++ = *text;
        }
    }
    *at = '\'';
    return word;
}

char *ft_diagnose_look_at(const char *command, const char *field, struct ft_bytes text, const char *condition)
{
    char *quoted = ft_cli_memory(ft_filter_quote(text.len ? text.data : "", text.len));
    char *where = ft_cli_format("%s=%s%s%s", field, quoted, condition ? " && " : "", condition ? condition : "");
    char *word = ft_diagnose_shell_word(where);
    char *options = ft_cli_format("%s --where %s", command, word);
    free(quoted);
    free(where);
    free(word);
    return options;
}

char *ft_diagnose_look_at_file(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *finding,
                               const char *condition)
{
    const struct ft_entries *entries = &diagnose->entries;
    struct ft_bytes path =
        finding->file_count ? ft_entry_path(entries, &entries->items[finding->files[0].entry]) : FT_BYTES("");
    return ft_diagnose_look_at("events", "path", path, condition);
}
