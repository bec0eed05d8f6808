// SPDX-License-Identifier: MIT
//
// flowtap-generate --kind KIND --events N [--seed S] [--files N] [--dropped PERMILLE] [--hosts N] -o DIR
// makes DIR/<host>-<boot>-0.flow, one for each host.
#include "tests/generate/generate.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

struct arguments {
    struct gen_options options;
    const struct gen_model *model;
    const char *folder;
};

static _Noreturn void usage(const char *why)
{
    fprintf(stderr,
            "flowtap-generate: %s\nusage: flowtap-generate --kind KIND --events N [--seed S] [--files N] "
            "[--dropped PERMILLE] [--hosts N] -o DIR\n",
            why);
    for (size_t i = 0; i < gen_model_count; i++)
        fprintf(stderr, "  %-12s %s\n", gen_models[i].name, gen_models[i].what);
    exit(2);
}

static uint64_t number(const char *text, uint64_t most)
{
    char *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno || *end || end == text || *text == '-' || value > most)
        usage("a number was expected");
    return value;
}

static void parse(int argc, char **argv, struct arguments *arguments)
{
    static const struct option options[] = {
        {"kind", required_argument, NULL, 'k'},
        {"events", required_argument, NULL, 'n'},
        {"seed", required_argument, NULL, 's'},
        {"files", required_argument, NULL, 'f'},
        {"dropped", required_argument, NULL, 'd'},
        {"hosts", required_argument, NULL, 'H'},
        {NULL, 0, NULL, 0},
    };
    struct gen_options *out = &arguments->options;

    for (int letter; (letter = getopt_long(argc, argv, "o:", options, NULL)) != -1;) {
        if (letter == 'k')
            arguments->model = gen_model_find(optarg);
        else if (letter == 'n')
            out->events = number(optarg, UINT64_C(1) << 40);
        else if (letter == 's')
            out->seed = number(optarg, UINT64_MAX);
        else if (letter == 'f')
            out->files = number(optarg, UINT64_C(1) << 24);
        else if (letter == 'd')
            out->dropped_permille = number(optarg, 1000);
        else if (letter == 'H')
            out->hosts = number(optarg, 100000);
        else if (letter == 'o')
            arguments->folder = optarg;
        else
            usage("unknown option");
    }
    if (!arguments->model || !arguments->folder || optind < argc)
        usage("--kind and -o are needed");
}

int main(int argc, char **argv)
{
    struct arguments arguments = {.options = {.events = 1000000, .seed = 1, .hosts = 1}};

    parse(argc, argv, &arguments);
    if (mkdir(arguments.folder, 0755) && errno != EEXIST)
        gen_die(arguments.folder);
    for (uint64_t host = 0; host < arguments.options.hosts; host++) {
        struct gen_trace trace = {0};
        char name[32], path[4096];

        arguments.options.host = host;
        gen_trace_host_name(&arguments.options, name, sizeof(name));
        if (snprintf(path, sizeof(path), "%s/%s-0a1b2c3d-0.flow", arguments.folder, name) >= (int)sizeof(path))
            usage("the folder's name is too long");
        gen_trace_make(&trace, arguments.model, &arguments.options, path);
    }
    return 0;
}
