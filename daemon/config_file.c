// SPDX-License-Identifier: MIT
//
// Reading configuration files: INI lines, and the folder of drop-ins.
#include "daemon/config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_BYTES_MAX ((size_t)1 << 20)
#define LINE_BYTES_MAX 16384

static char *trimmed(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    char *end = text + strlen(text);
    while (end > text && isspace((unsigned char)end[-1]))
        end--;
    *end = '\0';
    return text;
}

// *is_ours says whether the lines that follow a section's head are for us.
static int parse_line(struct ft_config *config, char *line, bool *is_ours, struct ft_config_error *error)
{
    line = trimmed(line);
    if (!*line || *line == '#' || *line == ';')
        return 0;
    if (*line == '[') {
        *is_ours = strcmp(line, "[" FT_CONFIG_SECTION "]") == 0;
        return 0;
    }
    if (!*is_ours)
        return 0;
    char *equals = strchr(line, '=');
    if (!equals) {
        snprintf(error->text, sizeof(error->text), "%.64s: not of the form key = value", line);
        return -EINVAL;
    }
    *equals = '\0';
    return ft_config_set(config, trimmed(line), trimmed(equals + 1), error);
}

int ft_config_parse(struct ft_config *config, const char *text, size_t length, struct ft_config_error *error)
{
    bool is_ours = false;
    unsigned number = 0;
    for (size_t from = 0; from < length;) {
        char line[LINE_BYTES_MAX];
        const char *newline = memchr(text + from, '\n', length - from);
        size_t bytes = newline ? (size_t)(newline - (text + from)) : length - from;
        number++;
        if (bytes >= sizeof(line) || memchr(text + from, '\0', bytes)) {
            snprintf(error->text, sizeof(error->text), "line %u: too long, or no text", number);
            return -EINVAL;
        }
        memcpy(line, text + from, bytes);
        line[bytes] = '\0';
        int r = parse_line(config, line, &is_ours, error);
        if (r < 0) {
            struct ft_config_error cause = *error;
            snprintf(error->text, sizeof(error->text), "line %u: %.220s", number, cause.text);
            return r;
        }
        from += bytes + (newline != NULL);
    }
    return 0;
}

static int load_one(struct ft_config *config, const char *path, struct ft_config_error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 && errno == ENOENT)
        return 0;
    char *text = fd < 0 ? NULL : malloc(FILE_BYTES_MAX);
    int r = fd < 0 ? -errno : text ? 0 : -ENOMEM;
    size_t length = 0;
    while (r == 0 && length < FILE_BYTES_MAX) {
        ssize_t n = read(fd, text + length, FILE_BYTES_MAX - length);
        if (n < 0)
            r = -errno;
        if (n <= 0)
            break;
        length += (size_t)n;
    }
    if (r < 0)
        snprintf(error->text, sizeof(error->text), "%.160s: %s", path, strerror(-r));
    else if ((r = ft_config_parse(config, text, length, error)) < 0) {
        struct ft_config_error cause = *error;
        snprintf(error->text, sizeof(error->text), "%.80s: %.160s", path, cause.text);
    }
    free(text);
    if (fd >= 0)
        close(fd);
    return r;
}

int ft_config_load(struct ft_config *config, const char *path, struct ft_config_error *error)
{
    int r = load_one(config, path, error);
    char *pattern = NULL;
    glob_t found = {0};
    if (r == 0 && asprintf(&pattern, "%s.d/*.conf", path) < 0)
        return -ENOMEM;
    if (r == 0 && glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; r == 0 && i < found.gl_pathc; i++)
            r = load_one(config, found.gl_pathv[i], error);
    globfree(&found);
    free(pattern);
    return r;
}
