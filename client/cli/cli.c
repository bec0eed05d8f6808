// SPDX-License-Identifier: MIT
#include "client/cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/text.h"

static const char *cli_name = "flowtap";

void ft_cli_set_name(const char *name)
{
    cli_name = name;
}

const char *ft_cli_name(void)
{
    return cli_name;
}

static __attribute__((format(printf, 2, 0))) void print_line(const char *kind, const char *format, va_list arguments,
                                                             const char *tail)
{
    char *message = NULL;
    if (vasprintf(&message, format, arguments) < 0) {
        message = NULL;
    }
    const char *text = message ? message : format;
    char *shown = ft_text_escape(text, strlen(text), FT_TEXT_SHOW);
    fflush(stdout);
    fprintf(stderr, "%s: %s%s%s\n", cli_name, kind, shown, tail);
    free(shown);
    free(message);
}

int ft_cli_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("", format, arguments, "");
    va_end(arguments);
    return FT_STATUS_FAILED;
}

int ft_cli_fail_usage(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char tail[128];
    snprintf(tail, sizeof(tail), " (see: %s --help)", cli_name);
    print_line("", format, arguments, tail);
    va_end(arguments);
    return FT_STATUS_USAGE;
}

void ft_cli_warn(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("warning: ", format, arguments, "");
    va_end(arguments);
}

void *ft_cli_memory(void *memory)
{
    if (!memory) {
        fprintf(stderr, "%s: out of memory\n", cli_name);
        exit(FT_STATUS_FAILED);
    }
    return memory;
}

void *ft_cli_alloc(size_t bytes)
{
    return ft_cli_memory(calloc(1, bytes ? bytes : 1));
}

void *ft_cli_realloc(void *old, size_t count, size_t item_bytes)
{
    return ft_cli_memory(reallocarray(old, count ? count : 1, item_bytes ? item_bytes : 1));
}

bool ft_cli_decoded(int status)
{
    if (status == -ENOMEM) {
        ft_cli_memory(NULL);
    }
    return status == 0;
}

char *ft_cli_strdup(const char *text)
{
    return ft_cli_memory(strdup(text));
}

char *ft_cli_format(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = NULL;
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    return ft_cli_memory(length < 0 ? NULL : text);
}

static struct sigaction file_limit_before;

void ft_cli_ignore_file_limit(void)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGXFSZ, &ignore, &file_limit_before);
}

void ft_cli_give_back_file_limit(void)
{
    sigaction(SIGXFSZ, &file_limit_before, NULL);
}

bool ft_cli_has_default_file_limit(void)
{
    return file_limit_before.sa_handler == SIG_DFL;
}

static int write_error; /* the first one */

void ft_cli_note_write(bool is_done)
{
    write_error = !is_done && write_error == 0 ? errno : write_error;
}

int ft_cli_finish_output(int status)
{
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        int error = errno ? errno : write_error;
        return ft_cli_fail("cannot write to standard output: %s", strerror(error ? error : EIO));
    }
    return status;
}
