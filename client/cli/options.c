// SPDX-License-Identifier: MIT
#include "client/cli/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"

struct parser {
    const struct ft_command *command;
    char **argv;
    int argc, next;
    char *values;
    char *error;
    size_t error_bytes;
};

static __attribute__((format(printf, 2, 3))) int wrong(const struct parser *parser, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(parser->error, parser->error_bytes, format, arguments);
    va_end(arguments);
    return -EINVAL;
}

static void append(struct ft_strings *list, const char *item)
{
    list->items = ft_cli_realloc(list->items, list->count + 1, sizeof(*list->items));
    list->items[list->count++] = item;
}

static bool is_choice(const char *choices, const char *value)
{
    size_t length = strlen(value);
    for (const char *at = choices; at; at = strchr(at, '|')) {
        at += *at == '|';
        if (strncmp(at, value, length) == 0 && (at[length] == '|' || at[length] == '\0') && length > 0) {
            return true;
        }
    }
    return false;
}

static int store_count(const struct parser *parser, const struct ft_option *option, const char *value)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    if (errno || end == value || *end || strchr(value, '-')) {
        return wrong(parser, "--%s wants a number, not '%s'", option->name, value);
    }
    *(uint64_t *)(void *)(parser->values + option->at) = number;
    return 0;
}

static int store(const struct parser *parser, const struct ft_option *option, const char *value)
{
    void *to = parser->values + option->at;
    switch (option->kind) {
    case FT_OPTION_FLAG:
    case FT_OPTION_NO:
        *(bool *)to = option->kind == FT_OPTION_FLAG;
        return 0;
    case FT_OPTION_CHOICE:
        if (!is_choice(option->choices, value)) {
            return wrong(parser, "--%s wants one of %s, not '%s'", option->name, option->choices, value);
        }
        *(const char **)to = value;
        return 0;
    case FT_OPTION_STRING:
        *(const char **)to = value;
        return 0;
    case FT_OPTION_LIST:
        append(to, value);
        return 0;
    case FT_OPTION_COUNT:
        return store_count(parser, option, value);
    }
    return 0;
}

static bool wants_value(const struct ft_option *option)
{
    return option->kind != FT_OPTION_FLAG && option->kind != FT_OPTION_NO;
}

/* `inline_value` is what stood behind = or the letter, or NULL. */
static int take_option(struct parser *parser, const struct ft_option *option, const char *inline_value)
{
    if (!wants_value(option)) {
        if (inline_value) {
            return wrong(parser, "--%s takes no value", option->name);
        }
        return store(parser, option, NULL);
    }
    if (!inline_value && parser->next >= parser->argc) {
        return wrong(parser, "--%s wants %s", option->name, option->argument);
    }
    return store(parser, option, inline_value ? inline_value : parser->argv[parser->next++]);
}

static int take_long(struct parser *parser, const char *word)
{
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    for (size_t i = 0; i < parser->command->option_count; i++) {
        const struct ft_option *option = &parser->command->options[i];
        if (strlen(option->name) == length && memcmp(option->name, word, length) == 0) {
            return take_option(parser, option, equals ? equals + 1 : NULL);
        }
    }
    return wrong(parser, "unknown option '--%.*s'", (int)length, word);
}

/* A word of one-letter options: -ab, -oDIR. */
static int take_letters(struct parser *parser, const char *letters)
{
    for (; *letters; letters++) {
        const struct ft_option *option = NULL;
        for (size_t i = 0; i < parser->command->option_count && !option; i++) {
            option = parser->command->options[i].letter == *letters ? &parser->command->options[i] : NULL;
        }
        if (!option) {
            return wrong(parser, "unknown option '-%c'", *letters);
        }
        if (wants_value(option)) {
            return take_option(parser, option, letters[1] ? letters + 1 : NULL);
        }
        int status = take_option(parser, option, NULL);
        if (status < 0) {
            return status;
        }
    }
    return 0;
}

static int take_words(struct parser *parser, struct ft_strings *operands)
{
    bool only_operands = false;
    while (parser->next < parser->argc) {
        const char *word = parser->argv[parser->next++];
        int status = 0;
        if (only_operands || word[0] != '-' || word[1] == '\0') {
            append(operands, word);
            only_operands |= parser->command->ends_at_operand;
        } else if (strcmp(word, "--") == 0) {
            only_operands = true;
        } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            return 1;
        } else {
            status = word[1] == '-' ? take_long(parser, word + 2) : take_letters(parser, word + 1);
        }
        if (status < 0) {
            return status;
        }
    }
    if (operands->count < parser->command->operands_min) {
        return wrong(parser, "%s", parser->command->operand_missing);
    }
    if (operands->count > parser->command->operands_max) {
        return wrong(parser, "unexpected argument '%s'", operands->items[parser->command->operands_max]);
    }
    return 0;
}

int ft_options_parse(const struct ft_command *command, int argc, char **argv, void *values, struct ft_strings *operands,
                     char *error, size_t error_bytes)
{
    struct parser parser = {.command = command,
                            .argv = argv,
                            .argc = argc,
                            .next = 1,
                            .values = values,
                            .error = error,
                            .error_bytes = error_bytes};
    memset(values, 0, command->values_bytes);
    if (command->defaults) {
        memcpy(values, command->defaults, command->values_bytes);
    }
    memset(operands, 0, sizeof(*operands));
    return take_words(&parser, operands);
}

void ft_options_release(const struct ft_command *command, void *values, struct ft_strings *operands)
{
    for (size_t i = 0; i < command->option_count; i++) {
        if (command->options[i].kind == FT_OPTION_LIST) {
            struct ft_strings *list = (void *)((char *)values + command->options[i].at);
            free(list->items);
            list->items = NULL;
        }
    }
    free(operands->items);
    operands->items = NULL;
}

static void print_option(char letter, const char *name, const char *argument, const char *help)
{
    char left[64];
    int length = snprintf(left, sizeof(left), letter ? "-%c, " : "    ", letter);
    snprintf(left + length, sizeof(left) - (size_t)length, "--%s%s%s", name, argument ? " " : "",
             argument ? argument : "");
    printf("  %-28s %s\n", left, help);
}

static int print_help(const struct ft_command *command)
{
    printf("usage: flowtap %s [OPTION]... %s\n\n%s\n", command->name, command->arguments, command->summary);
    if (command->details) {
        printf("\n%s\n", command->details);
    }
    printf("\noptions:\n");
    for (size_t i = 0; i < command->option_count; i++) {
        const struct ft_option *option = &command->options[i];
        print_option(option->letter, option->name, option->argument, option->help);
    }
    print_option('h', "help", NULL, "print this");
    return ft_cli_finish_output(FT_STATUS_DONE);
}

int ft_options_run(const struct ft_command *command, int argc, char **argv)
{
    char error[512] = "", *name = ft_cli_format("flowtap %s", command->name);
    void *values = ft_cli_alloc(command->values_bytes);
    struct ft_strings operands;
    ft_cli_set_name(name);
    int parsed = ft_options_parse(command, argc, argv, values, &operands, error, sizeof(error)), status;
    if (parsed < 0) {
        status = ft_cli_fail_usage("%s", error);
    } else if (parsed > 0) {
        status = print_help(command);
    } else {
        status = command->run(values, &operands);
    }
    ft_options_release(command, values, &operands);
    ft_cli_set_name("flowtap");
    free(values);
    free(name);
    return status;
}
