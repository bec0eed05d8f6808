// SPDX-License-Identifier: MIT
//
// flowtap-generate --kind KIND [--events N] [--seed S] [--files N] [--dropped PERMILLE] [--hosts N] -o DIR
// makes DIR/<host>-<boot>-0.flow, one for each host.
#include "tests/generate/generate.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct arguments {
    struct gen_options options;
    const struct gen_model *model;
    const char *folder;
};

enum { KIND = 'k', FOLDER = 'o', HELP = 'h', NUMBER = 256 };

// option, field of struct gen_options, least, most, what it is
#define NUMBERS(X)                                                                                              \
    X("events", events, 0, UINT64_C(1) << 40, "of all hosts together, emitted; a million where none are given") \
    X("seed", seed, 0, UINT64_MAX, "the same seed makes the same trace")                                        \
    X("files", files, 0, UINT64_C(1) << 24,                                                                     \
      "of the data set, 16 at least; in proportion to the events where none are given")                         \
    X("dropped", dropped_permille, 0, 1000, "per mille of the calls, in bursts")                                \
    X("hosts", hosts, 1, 100000, "a file each, and an equal part of the events")

#define ROW(option, field, least, most, what) {option, offsetof(struct gen_options, field), least, most, what},
static const struct {
    const char *option;
    size_t at;
    uint64_t least, most;
    const char *what;
} numbers[] = {NUMBERS(ROW)};
#undef ROW

static _Noreturn void refuse(const char *what, const char *why)
{
    fprintf(stderr, "flowtap-generate: %s: %s; --help tells what can be\n", what, why);
    exit(2);
}

static _Noreturn void help(void)
{
    printf(
        "usage: flowtap-generate --kind KIND [OPTION]... -o DIR\nmakes DIR/HOST-BOOT-0.flow for each host\n\nkinds:\n");
    for (size_t i = 0; i < gen_model_count; i++)
        printf("  %-12s %s\n", gen_models[i].name, gen_models[i].what);
    printf("\noptions:\n");
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        printf("  --%-8s N  %s\n", numbers[i].option, numbers[i].what);
    exit(fflush(stdout) ? 1 : 0);
}

static uint64_t number(size_t which, const char *text)
{
    char why[128], *end;
    uint64_t value;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno || *end || *text < '0' || *text > '9' || value < numbers[which].least || value > numbers[which].most) {
        snprintf(why, sizeof(why), "not a number from %" PRIu64 " to %" PRIu64, numbers[which].least,
                 numbers[which].most);
        refuse(text, why);
    }
    return value;
}

static const struct gen_model *model(const char *name)
{
    const struct gen_model *found = gen_model_find(name);

    if (!found)
        refuse(name, "there is no such kind");
    return found;
}

static void parse(int argc, char **argv, struct arguments *arguments)
{
#define ROW(option, field, least, most, what) \
    {option, required_argument, NULL, NUMBER + offsetof(struct gen_options, field)},
    static const struct option options[] = {
        {"kind", required_argument, NULL, KIND}, {"help", no_argument, NULL, HELP}, NUMBERS(ROW){NULL, 0, NULL, 0}};
#undef ROW

    opterr = 0;
    for (int letter; (letter = getopt_long(argc, argv, ":o:", options, NULL)) != -1;) {
        if (letter == ':' || letter == '?')
            refuse(argv[optind - 1], letter == ':' ? "a value is missing" : "there is no such option");
        else if (letter == HELP)
            help();
        else if (letter == KIND)
            arguments->model = model(optarg);
        else if (letter == FOLDER)
            arguments->folder = optarg;
        else
            for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
                if (letter == NUMBER + (int)numbers[i].at)
                    *(uint64_t *)(void *)((char *)&arguments->options + numbers[i].at) = number(i, optarg);
    }
    if (optind < argc)
        refuse(argv[optind], "options alone are taken");
    if (!arguments->model || !arguments->folder)
        refuse(arguments->model ? "-o DIR" : "--kind KIND", "is needed");
}

int main(int argc, char **argv)
{
    struct arguments arguments = {.options = {.events = 1000000, .seed = 1, .hosts = 1}};

    parse(argc, argv, &arguments);
    if (mkdir(arguments.folder, 0755) && errno != EEXIST)
        gen_die_of(arguments.folder);
    for (uint64_t host = 0; host < arguments.options.hosts; host++) {
        struct gen_trace trace = {0};
        char name[32], path[4096];

        arguments.options.host = host;
        gen_trace_host_name(&arguments.options, name, sizeof(name));
        if (snprintf(path, sizeof(path), "%s/%s-0a1b2c3d-0.flow", arguments.folder, name) >= (int)sizeof(path))
            refuse(arguments.folder, "the name is too long");
        gen_trace_make(&trace, arguments.model, &arguments.options, path);
    }
    return 0;
}
