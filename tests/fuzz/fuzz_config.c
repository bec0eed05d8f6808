// SPDX-License-Identifier: MIT
//
// Text that the daemon parses: its configuration, and what the kernel and clients say of processes and mounts.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config.h"
#include "daemon/identity.h"
#include "daemon/mounts.h"
#include "daemon/procfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void tell(bool is_error, const char *text)
{
    (void)is_error;
    assert(strncmp(text, "f:", 2) == 0);
}

static void parse_config(const char *text, size_t size)
{
    struct ft_config config;
    struct ft_config_report report = {.tell = tell};
    assert(ft_config_init(&config) == 0);
    ft_config_parse(&config, "f", text, size, &report);
    ft_config_check(&config, &report);
    ft_config_fini(&config);
}

static void parse_identity(const char *text, size_t size)
{
    size_t half = size / 2;
    struct ft_identity_input input = {
        .kernel_cgroup = {.data = text, .len = half},
        .claimed_cgroup = {.data = text + half, .len = size - half},
        .environment = {.data = text, .len = size},
    };
    struct ft_identity identity;
    ft_identity_find(&input, &identity);
    struct ft_tag tags[8];
    unsigned ignored = 0;
    assert(ft_identity_tags((struct ft_bytes){.data = text, .len = size}, tags, 8, &ignored) <= 8);
}

static void parse_kernel_text(const char *text)
{
    struct ft_mount mount;
    struct ft_procfs_stat stat;
    char *copy = strdup(text);
    if (ft_mounts_parse_line(copy, &mount))
        ft_mount_fini(&mount);
    strcpy(copy, text);
    ft_procfs_parse_stat(copy, &stat);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = '\0';
    parse_config(text, size);
    parse_identity(text, size);
    parse_kernel_text(text);
    free(text);
    return 0;
}
