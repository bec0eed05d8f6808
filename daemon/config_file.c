// SPDX-License-Identifier: MIT
//
// Reading configuration files: INI lines, and the folder of drop-ins.
#include "daemon/config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX ((size_t)1 << 20)
#define LINE_BYTES_MAX 16384
#define FIFO_PATIENCE_MS 10000

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

// Where in which file we are.
struct place {
    const char *path;
    unsigned line;
    bool is_ours;    // the section
    bool is_outside; // lines before any section were told
    struct ft_config_report *report;
};

__attribute__((format(printf, 3, 4))) static void tell(const struct place *place, bool is_error, const char *format,
                                                       ...)
{
    char text[320];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    ft_config_tell(place->report, is_error, "%.600s:%u: %s", place->path, place->line, text);
}

static void enter_section(struct place *place, const char *head)
{
    place->is_ours = strcmp(head, "[" FT_CONFIG_SECTION "]") == 0;
    place->is_outside = true;
    if (!place->is_ours)
        tell(place, false, "%.64s is no section of ours: what follows is not read", head);
}

static void note_outside(struct place *place)
{
    if (!place->is_outside)
        tell(place, false, "before [" FT_CONFIG_SECTION "] nothing is read");
    place->is_outside = true;
}

// The line of this file that has set the key already; 0: none has.
static unsigned line_before(struct ft_config *config, const struct place *place, const char *name)
{
    const struct ft_config_key *key = ft_config_find(name);
    const char *origin = key ? ft_config_value(config, key)->origin : NULL;
    size_t bytes = strlen(place->path);
    if (!origin || strncmp(origin, place->path, bytes) != 0 || origin[bytes] != ':')
        return 0;
    return (unsigned)strtoul(origin + bytes + 1, NULL, 10);
}

static void set(struct ft_config *config, const struct place *place, const char *name, const char *value)
{
    struct ft_config_error error;
    char origin[PATH_MAX + 16];
    unsigned before = line_before(config, place, name);
    snprintf(origin, sizeof(origin), "%s:%u", place->path, place->line);
    if (ft_config_set(config, name, value, origin, &error) < 0)
        tell(place, true, "%s", error.text);
    else if (before)
        tell(place, false, "%s: set in line %u, too; this one counts", name, before);
}

static void parse_line(struct ft_config *config, struct place *place, char *line)
{
    line = trimmed(line);
    if (!*line || *line == '#' || *line == ';')
        return;
    if (*line == '[') {
        enter_section(place, line);
        return;
    }
    if (!place->is_ours) {
        note_outside(place);
        return;
    }
    char *equals = strchr(line, '=');
    if (!equals) {
        tell(place, true, "%.64s: not of the form key = value", line);
        return;
    }
    *equals = '\0';
    set(config, place, trimmed(line), trimmed(equals + 1));
}

void ft_config_parse(struct ft_config *config, const char *path, const char *text, size_t length,
                     struct ft_config_report *report)
{
    struct place place = {.path = path, .report = report};
    for (size_t from = 0; from < length;) {
        char line[LINE_BYTES_MAX];
        const char *newline = memchr(text + from, '\n', length - from);
        size_t bytes = newline ? (size_t)(newline - (text + from)) : length - from;
        place.line++;
        if (bytes >= sizeof(line) || memchr(text + from, '\0', bytes)) {
            tell(&place, true, "too long, or no text");
        } else {
            memcpy(line, text + from, bytes);
            line[bytes] = '\0';
            parse_line(config, &place, line);
        }
        from += bytes + (newline != NULL);
    }
}

// A descriptor, or -errno. What is no file with an end is not waited for: a fifo among drop-ins may never have one.
// /dev/null has, and so has a pipe that a shell gives as the file itself.
static int open_file(const char *path, bool is_listed, bool *is_fifo)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    bool is_known = fstat(fd, &status) == 0;
    *is_fifo = is_known && S_ISFIFO(status.st_mode);
    if (is_known &&
        (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) || S_ISCHR(status.st_mode) || (*is_fifo && !is_listed)))
        return fd;
    close(fd);
    return -EINVAL;
}

// Who writes into it has to begin, and go on.
static bool has_more(int fd)
{
    struct pollfd watch = {.fd = fd, .events = POLLIN};
    int r;
    do
        r = poll(&watch, 1, FIFO_PATIENCE_MS);
    while (r < 0 && errno == EINTR);
    return r > 0;
}

// The whole file, malloc'ed; NULL and -errno.
static char *read_file(const char *path, bool is_listed, size_t *length, int *error)
{
    bool is_fifo = false;
    int fd = open_file(path, is_listed, &is_fifo);
    char *text = fd < 0 ? NULL : malloc(FILE_BYTES_MAX);
    int r = fd < 0 ? fd : text ? 0 : -ENOMEM;
    *length = 0;
    while (r == 0 && *length < FILE_BYTES_MAX) {
        if (is_fifo && !has_more(fd)) {
            r = -ETIMEDOUT;
            break;
        }
        ssize_t n = read(fd, text + *length, FILE_BYTES_MAX - *length);
        if (n < 0)
            r = -errno;
        if (n <= 0)
            break;
        *length += (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    if (text && *length == FILE_BYTES_MAX)
        r = -EFBIG;
    *error = r;
    if (r == 0)
        return text;
    free(text);
    return NULL;
}

// One that is not there is no error. Whoever sees that there should be one tells so.
static void load_one(struct ft_config *config, const char *path, bool is_listed, struct ft_config_report *report)
{
    size_t length;
    int error;
    char *text = read_file(path, is_listed, &length, &error);
    if (error < 0 && (error != -ENOENT || is_listed))
        ft_config_tell(report, error != -ENOENT, "%s: %s", path,
                       error == -EINVAL ? "no regular file" : strerror(-error));
    if (text)
        ft_config_parse(config, path, text, length, report);
    free(text);
}

void ft_config_load(struct ft_config *config, const char *path, struct ft_config_report *report)
{
    char pattern[PATH_MAX];
    glob_t found = {0};
    load_one(config, path, false, report);
    int n = snprintf(pattern, sizeof(pattern), "%s.d/*.conf", path);
    if (n > 0 && (size_t)n < sizeof(pattern) && glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            load_one(config, found.gl_pathv[i], true, report);
    globfree(&found);
}
