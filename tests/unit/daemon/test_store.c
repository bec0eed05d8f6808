// SPDX-License-Identifier: MIT
//
// Which segments are handed to the service manager, and when: each one costs it time.
#include "daemon/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/daemon.h"

#define SECOND_NS INT64_C(1000000000)
#define HOUR_NS (3600 * SECOND_NS)
enum { PROCESSES = 100 };

static struct ft_daemon *daemon_;
static struct ft_job job;
static struct ft_process processes[PROCESSES];
static int manager;

static int set_up(void **state)
{
    (void)state;
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int bytes = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "flowtap-test-store-%d", (int)getpid());
    char address[sizeof(name.sun_path) + 1];
    snprintf(address, sizeof(address), "@%s", name.sun_path + 1);
    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)bytes);
    assert_int_equal(bind(manager, (struct sockaddr *)&name, length), 0);
    setenv("NOTIFY_SOCKET", address, 1);
    unsetenv("FDSTORE");

    daemon_ = calloc(1, sizeof(*daemon_));
    daemon_->config.max_stored = PROCESSES;
    assert_int_equal(uv_loop_init(&daemon_->loop), 0);
    ft_store_open(daemon_);
    assert_true(daemon_->store.is_started);
    memset(&job, 0, sizeof(job));
    job.daemon = daemon_;
    snprintf(job.identity.job, sizeof(job.identity.job), "job");
    memset(processes, 0, sizeof(processes));
    for (uint32_t i = 0; i < PROCESSES; i++) {
        processes[i].pid = i + 1;
        processes[i].job = &job;
        processes[i].store_fd = -1;
        processes[i].segment.id = i + 1;
        processes[i].segment.fd = memfd_create("segment", MFD_CLOEXEC);
        daemon_->by_pid[i] = &processes[i];
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < PROCESSES; i++) {
        close(processes[i].segment.fd);
        if (processes[i].store_fd >= 0)
            close(processes[i].store_fd);
        free(processes[i].stored_name);
    }
    ft_store_close(daemon_);
    uv_run(&daemon_->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&daemon_->loop), 0);
    close(daemon_->store.fd);
    close(manager);
    free(daemon_);
    unsetenv("NOTIFY_SOCKET");
    return 0;
}

// Messages that the manager got since it was asked last.
static unsigned read_messages(void)
{
    char text[1024];
    unsigned count = 0;
    while (recv(manager, text, sizeof(text), 0) > 0) // what comes with it is closed
        count++;
    return count;
}

static bool is_handed_at_once(uint32_t i)
{
    ft_store_note_admitted(daemon_, &processes[i]);
    assert_int_equal(read_messages(), processes[i].stored_name ? 1 : 0);
    return processes[i].stored_name;
}

// Neither this second nor the one before it are over while the test runs.
static void freeze_second(uint32_t came, uint32_t came_before)
{
    daemon_->store.second_ns = ft_clock_mono_ns() + HOUR_NS;
    daemon_->store.in_second = came;
    daemon_->store.in_second_before = came_before;
}

static void few_that_come_are_handed_over_at_once_and_many_are_not(void **state)
{
    (void)state;
    uint32_t handed = 0;
    freeze_second(0, 0);
    for (uint32_t i = 0; i < PROCESSES; i++) {
        bool is_handed = is_handed_at_once(i);
        assert_false(is_handed && handed < i); // once there are many, no more
        handed += is_handed;
    }
    assert_in_range(handed, 1, PROCESSES / 2);
    assert_int_equal(daemon_->store.count, handed);
    assert_int_equal(daemon_->store.waiting, PROCESSES - handed);
}

// A process that comes when a second in which `came` did is that old.
static bool is_handed_after(uint32_t i, uint32_t came, int64_t age_ns)
{
    int64_t began_ns = ft_clock_mono_ns();
    daemon_->store.second_ns = began_ns - age_ns;
    daemon_->store.in_second = came;
    daemon_->store.in_second_before = 0;
    bool is_handed = is_handed_at_once(i);
    // A machine that stood still has let other seconds pass.
    return ft_clock_mono_ns() - began_ns < SECOND_NS ? is_handed : is_handed_after(i + 1, came, age_ns);
}

static void a_busy_second_is_remembered_in_the_next_one(void **state)
{
    (void)state;
    assert_false(is_handed_after(0, 1000, SECOND_NS)); // it has just ended
    assert_true(is_handed_after(20, 1, SECOND_NS));
    assert_true(is_handed_after(40, 1000, 2 * SECOND_NS)); // there was one without any since
    freeze_second(0, 1000);
    assert_false(is_handed_at_once(60));
}

static void wait_for_message(void)
{
    while (!read_messages())
        uv_run(&daemon_->loop, UV_RUN_ONCE);
}

static void short_processes_are_not_handed_over(void **state)
{
    (void)state;
    freeze_second(1000, 1000);
    assert_false(is_handed_at_once(0) || is_handed_at_once(1) || is_handed_at_once(2));
    atomic_store(&processes[0].state, FT_PROCESS_ENDED);
    atomic_store(&processes[1].state, FT_PROCESS_REPLACED);
    int64_t now_ns = ft_clock_mono_ns();
    processes[0].admitted_ns = processes[1].admitted_ns = now_ns + HOUR_NS;
    processes[2].admitted_ns = now_ns - SECOND_NS;
    wait_for_message();
    assert_non_null(processes[2].stored_name);
    assert_null(processes[0].stored_name);
    assert_null(processes[1].stored_name);
    // One that is not in a file after all that time is.
    processes[0].admitted_ns = now_ns - SECOND_NS;
    wait_for_message();
    assert_non_null(processes[0].stored_name);
    assert_null(processes[1].stored_name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(few_that_come_are_handed_over_at_once_and_many_are_not, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_busy_second_is_remembered_in_the_next_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(short_processes_are_not_handed_over, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
