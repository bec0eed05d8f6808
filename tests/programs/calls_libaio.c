// SPDX-License-Identifier: MIT
// The kernel's asynchronous I/O through libaio: submitting and waiting are the events.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE -Wno-unknown-warning-option -Wno-stringop-overflow
// LDFLAGS: -laio
// OPTIONAL: libaio-dev
#define _GNU_SOURCE
#include <fcntl.h>
#include <libaio.h>
#include <unistd.h>

#include "record.h"

static char buffer[4096];
static struct iovec parts[2] = {{buffer, 10}, {buffer + 100, 20}};

#define GIVES(value, ...) CHECK(CALL(__VA_ARGS__) == (value))
#define GOOD(...) GIVES(0, __VA_ARGS__)

// What a trace says of a result that is an error.
static int negative(int result)
{
    errno = result < 0 ? -result : errno;
    return result < 0 ? -1 : result;
}

static void waited(io_context_t context, int count)
{
    struct io_event events[4];
    GIVES(count, "io_getevents", NULL, NONE, NA, NA, io_getevents(context, count, 4, events, NULL));
    for (int i = 0; i < count; i++)
        CHECK((long)events[i].res > 0);
}

// Lists and requests at addresses where there is nothing fail as they do untraced.
static void failing(void)
{
    io_context_t context = NULL;
    struct iocb **volatile nowhere = (struct iocb **)8;
    struct iocb one, *list[2] = {&one, (struct iocb *)16};
    CHECK(io_setup(4, &context) == 0);
    io_prep_pwrite(&one, 77, buffer, 70, 0);
    CHECK(io_submit(context, 1, list) == -EBADF && io_submit(context, 1, nowhere) == -EFAULT);
    CHECK(io_submit(context, -1, list) == -EINVAL && io_submit(context, 1, list + 1) == -EFAULT);
    CHECK(io_destroy(context) == 0);
}

int main(void)
{
    io_context_t context = NULL;
    struct iocb one, two, *list[2] = {&one, &two};
    failing();
    record_open();
    int fd = CALL("open", "data", NA, NA, NA, open("data", O_RDWR | O_CREAT, 0600));
    int other = CALL("open", "other", NA, NA, NA, open("other", O_RDWR | O_CREAT, 0600));
    GOOD("io_setup", NULL, NA, NA, NA, io_setup(4, &context));
    io_prep_pwrite(&one, fd, buffer, 1000, 4096);
    GIVES(1, "io_submit", "data", fd, 1000, 4096, io_submit(context, 1, list));
    waited(context, 1);
    io_prep_pread(&two, fd, buffer, 500, 4100);
    GIVES(2, "io_submit", "data", fd, 1500, NONE, io_submit(context, 2, list));
    waited(context, 2);
    io_prep_pwritev(&two, fd, parts, 2, 100);
    list[0] = &two;
    GIVES(1, "io_submit", "data", fd, 30, 100, io_submit(context, 1, list));
    waited(context, 1);
    io_prep_pwrite(&one, other, buffer, 70, 0);
    list[1] = &one;
    GIVES(2, "io_submit", NULL, NONE, 100, NONE, io_submit(context, 2, list));
    waited(context, 2);
    struct io_event event;
    struct timespec at_once = {0, 0};
    GIVES(0, "io_pgetevents", NULL, NONE, NA, NA, io_pgetevents(context, 0, 1, &event, &at_once, NULL));
    CHECK(CALL("io_cancel", NULL, NONE, NA, NA, negative(io_cancel(context, &one, &event))) == -1);
    GOOD("io_destroy", NULL, NA, NA, NA, io_destroy(context));
    return 0;
}
