// SPDX-License-Identifier: MIT
#include "client/cli/top_screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

/* The alternate screen without a cursor and without wrapping; and back. */
#define ENTER "\033[?1049h\033[?25l\033[?7l"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"
enum { LINES_PLAIN = 24 };

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static const int faults[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

static struct {
    volatile sig_atomic_t is_open;
    bool has_keys; /* stdin is the terminal, too */
    int signal_fd, ended_by;
    sigset_t mask_before;
    struct termios before;
    FILE *picture;
    char *text;
    size_t bytes;
} screen = {.signal_fd = -1};

bool ft_top_screen_is_possible(void)
{
    const char *terminal = getenv("TERM");
    return isatty(STDOUT_FILENO) && terminal && *terminal && strcmp(terminal, "dumb") != 0;
}

static void write_all(const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = write(STDOUT_FILENO, text, bytes);
        if (n < 0 && errno != EINTR && errno != EAGAIN) {
            return;
        }
        text += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
}

/* Also from a handler: nothing but system calls. */
static void leave(void)
{
    if (!screen.is_open) {
        return;
    }
    screen.is_open = 0;
    write_all(LEAVE, strlen(LEAVE));
    if (screen.has_keys) {
        tcsetattr(STDIN_FILENO, TCSANOW, &screen.before);
    }
}

static void enter(void)
{
    struct termios raw = screen.before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    screen.is_open = 1;
    if (screen.has_keys) {
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    write_all(ENTER, strlen(ENTER));
}

static void on_fault(int number)
{
    leave();
    signal(number, SIG_DFL);
    raise(number);
}

int ft_top_screen_open(void)
{
    static bool is_registered;
    struct sigaction fault = {.sa_handler = on_fault, .sa_flags = (int)SA_RESETHAND};
    sigset_t mask;
    sigemptyset(&mask);
    for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
        sigaddset(&mask, ending[i]);
    }
    sigaddset(&mask, SIGWINCH);
    sigaddset(&mask, SIGTSTP);
    screen.signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (screen.signal_fd < 0) {
        return -errno;
    }
    screen.ended_by = 0;
    screen.has_keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &screen.before) == 0;
    sigprocmask(SIG_BLOCK, &mask, &screen.mask_before);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        sigaction(faults[i], &fault, NULL);
    }
    if (!is_registered) {
        is_registered = atexit(leave) == 0;
    }
    enter();
    return 0;
}

void ft_top_screen_close(void)
{
    leave();
    if (screen.signal_fd >= 0) {
        close(screen.signal_fd);
        screen.signal_fd = -1;
    }
}

void ft_top_screen_die(void)
{
    if (screen.ended_by) {
        signal(screen.ended_by, SIG_DFL);
        raise(screen.ended_by); /* comes when it is let through */
    }
    sigprocmask(SIG_SETMASK, &screen.mask_before, NULL);
}

size_t ft_top_screen_begin(struct ft_screen *out)
{
    struct winsize size;
    ft_screen_init(out, stdout);
    screen.picture = open_memstream(&screen.text, &screen.bytes);
    if (!screen.picture) {
        return 0;
    }
    out->out = screen.picture;
    bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
    return is_known ? size.ws_row : LINES_PLAIN;
}

/* Each line over what stood there, and nothing below the last. */
void ft_top_screen_end(void)
{
    if (!screen.picture) {
        return;
    }
    fclose(screen.picture);
    screen.picture = NULL;
    FILE *drawn;
    char *text = NULL;
    size_t bytes = 0;
    drawn = open_memstream(&text, &bytes);
    if (drawn) {
        fputs("\033[H", drawn);
        for (size_t i = 0; i < screen.bytes; i++) {
            fputs(screen.text[i] == '\n' ? "\033[K\r" : "", drawn);
            fputc(screen.text[i], drawn);
        }
        fputs("\033[K\033[J", drawn);
        fclose(drawn);
        write_all(text, bytes);
    }
    free(text);
    free(screen.text);
    screen.text = NULL;
}

static void stop_and_go_on(void)
{
    leave();
    kill(getpid(), SIGSTOP);
    enter();
}

/* 0 where it was none of ours. */
static int take_signal(void)
{
    struct signalfd_siginfo info;
    if (read(screen.signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info)) {
        return 0;
    }
    if (info.ssi_signo == SIGTSTP) {
        stop_and_go_on();
        return FT_TOP_REDRAW;
    }
    if (info.ssi_signo == SIGWINCH) {
        return FT_TOP_REDRAW;
    }
    screen.ended_by = (int)info.ssi_signo;
    return FT_TOP_ENDED;
}

int ft_top_screen_wait(int64_t timeout_ns)
{
    struct pollfd watches[] = {{.fd = screen.signal_fd, .events = POLLIN},
                               {.fd = screen.has_keys ? STDIN_FILENO : -1, .events = POLLIN}};
    int64_t wait_ms = timeout_ns <= 0 ? 0 : (timeout_ns + 999999) / 1000000;
    int ready = poll(watches, 2, wait_ms < INT32_MAX ? (int)wait_ms : INT32_MAX);
    if (ready <= 0) {
        return FT_TOP_TIMEOUT;
    }
    if (watches[0].revents) {
        int what = take_signal();
        return what ? what : FT_TOP_TIMEOUT;
    }
    unsigned char key;
    ssize_t n = read(STDIN_FILENO, &key, 1);
    return n == 1 ? key : FT_TOP_ENDED; /* the terminal is gone */
}
