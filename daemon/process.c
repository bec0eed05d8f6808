// SPDX-License-Identifier: MIT
#include "daemon/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/cgroup_id.h"
#include "daemon/procfs.h"
#include "daemon/time_namespace.h"

// A process younger than this when it attached has done next to nothing before. One that is older may have had no image
// before all the same: on a busy node much lies between a fork and what follows it.
#define YOUNG_NS INT64_C(100000000)
// Start times of pids are in ticks.
#define TICK_NS INT64_C(10000000)

struct item {
    enum ft_hello_item type;
    size_t offset; // of the view in struct ft_process
};

static const struct item items[] = {
    {FT_HELLO_EXE, offsetof(struct ft_process, exe)},         {FT_HELLO_ARGV, offsetof(struct ft_process, argv)},
    {FT_HELLO_ENV, offsetof(struct ft_process, environment)}, {FT_HELLO_CGROUP, offsetof(struct ft_process, cgroup)},
    {FT_HELLO_CWD, offsetof(struct ft_process, cwd)},
};

static void take_item(struct ft_process *process, const struct ft_hello_item_head *head, const uint8_t *bytes)
{
    for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
        if (head->type != items[i].type)
            continue;
        struct ft_bytes *view = (void *)((char *)process + items[i].offset);
        *view = (struct ft_bytes){.data = (const char *)bytes, .len = head->bytes};
        if (head->type == FT_HELLO_ARGV)
            process->is_argv_cut = head->flags & FT_HELLO_ITEM_CUT;
    }
}

static int read_items(struct ft_process *process, size_t bytes)
{
    const uint8_t *at = process->hello_bytes + sizeof(struct ft_hello);
    size_t left = bytes - sizeof(struct ft_hello);
    while (left >= sizeof(struct ft_hello_item_head)) {
        struct ft_hello_item_head head;
        memcpy(&head, at, sizeof(head));
        at += sizeof(head);
        left -= sizeof(head);
        if (head.bytes > left)
            return -EBADMSG;
        take_item(process, &head, at);
        size_t padded = ((size_t)head.bytes + 3) & ~(size_t)3;
        padded = padded < left ? padded : left;
        at += padded;
        left -= padded;
    }
    return 0;
}

// The start that the process claims, where it can be true.
static int64_t plausible_start_ns(const struct ft_hello *hello, int64_t ahead_ns)
{
    int64_t now_ns = ft_clock_mono_ns();
    int64_t start_ns = hello->attach_mono_ns > 0 ? hello->attach_mono_ns - ahead_ns : 0;
    return start_ns > 0 && start_ns < now_ns ? start_ns : now_ns;
}

int ft_process_read_hello(struct ft_process *process)
{
    size_t bytes;
    int r = ft_segment_read_hello(&process->segment, &process->hello_bytes, &bytes);
    if (r < 0)
        return r;
    struct ft_hello hello;
    memcpy(&hello, process->hello_bytes, sizeof(hello));
    if (hello.clock != FT_CLOCK_TICKS && hello.clock != FT_CLOCK_MONOTONIC_NS)
        return -EBADMSG;
    r = read_items(process, bytes);
    if (r < 0)
        return r;
    process->clock = hello.clock;
    process->image = hello.image;
    process->ns_pid = hello.pid;
    process->ns_parent_pid = hello.ppid;
    process->parent_pid = hello.pid == process->pid ? hello.ppid : 0;
    process->start_time = hello.start_time;
    process->pid_namespace = hello.pid_namespace;
    process->clock_ahead_ns = ft_time_namespace_ahead_ns(process->pid, &hello);
    process->start_ns = plausible_start_ns(&hello, process->clock_ahead_ns);
    if (hello.image != FT_IMAGE_EXEC && (hello.parent_segment_id[0] || hello.parent_segment_id[1]))
        process->parent_segment = ft_segment_mix_id(hello.parent_segment_id);
    ft_names_set_cwd(&process->names, process->cwd.data, process->cwd.len);
    struct ft_bytes tags;
    if (ft_identity_variable(process->environment, "FLOWTAP_TAGS", &tags))
        process->tags_count = ft_identity_tags(tags, process->tags, FT_PROCESS_TAGS_MAX, &process->tags_ignored);
    return 0;
}

// Clocks and rates that are found in a moment agree better than this; namespaces differ by more, or it matters little.
#define OTHER_CLOCK_NS INT64_C(1000000000)

void ft_process_check_start(struct ft_process *process, struct ft_clock_pairs *clock)
{
    struct ft_hello hello;
    memcpy(&hello, process->hello_bytes, sizeof(hello));
    if (process->clock != FT_CLOCK_TICKS)
        return;
    ft_clock_tick(clock, false); // the machine may have slept since the newest pair
    int64_t by_ticks_ns = ft_clock_about_ns(clock, hello.attach_ticks);
    if (by_ticks_ns == 0) { // the first pair is the only one
        ft_clock_tick(clock, true);
        by_ticks_ns = ft_clock_about_ns(clock, hello.attach_ticks);
    }
    if (by_ticks_ns <= 0 || by_ticks_ns >= ft_clock_mono_ns())
        return;
    // Both are positive here, or the claim is none: no difference is too large for its type.
    int64_t off_ns = hello.attach_mono_ns < 0 ? INT64_MAX : by_ticks_ns - hello.attach_mono_ns;
    if (off_ns > OTHER_CLOCK_NS || off_ns < -OTHER_CLOCK_NS)
        process->start_ns = by_ticks_ns;
}

static bool is_alive(const struct ft_process *process)
{
    return process->pidfd >= 0 && !ft_procfs_has_ended(process->pidfd);
}

// When a pid was made, on the clock of events.
static int64_t born_ns(uint64_t start_time)
{
    int64_t clock_tick_ns = INT64_C(1000000000) / sysconf(_SC_CLK_TCK);
    struct timespec boot, mono;
    clock_gettime(CLOCK_BOOTTIME, &boot);
    clock_gettime(CLOCK_MONOTONIC, &mono);
    int64_t asleep_ns = (boot.tv_sec - mono.tv_sec) * INT64_C(1000000000) + boot.tv_nsec - mono.tv_nsec;
    return (int64_t)start_time * clock_tick_ns - asleep_ns;
}

// A forked child attaches at once, so a pid that was made at another time is another's by now.
bool ft_process_may_be(const struct ft_process *process, uint64_t start_time)
{
    if (process->start_time)
        return process->start_time == start_time;
    int64_t age_ns = process->start_ns - born_ns(start_time);
    return age_ns > -YOUNG_NS && age_ns < YOUNG_NS;
}

static bool read_counters(const struct ft_process *process, struct ft_process_counters *out,
                          struct ft_procfs_stat *stat)
{
    struct ft_procfs_io io;
    // stat is read second, and tells whether it was this process's io.
    if (ft_procfs_io(process->pid, &io) < 0 || ft_procfs_stat(process->pid, stat) < 0)
        return false;
    // The kernel is asked after both, and where it cannot tell, the time. A pid may be much older than its image.
    if (!(process->pidfd >= 0 && ft_procfs_has_pid(process->pidfd)) && !ft_process_may_be(process, stat->start_time))
        return false;
    *out = (struct ft_process_counters){
        .is_known = true,
        .rchar = io.rchar,
        .wchar = io.wchar,
        .syscr = io.syscr,
        .syscw = io.syscw,
        .read_bytes = io.read_bytes,
        .write_bytes = io.write_bytes,
        .major_faults = stat->major_faults,
    };
    return true;
}

// Whether all that the pid of that start has done is this image's. Where its parent was traced when the pid was made, what
// came before would have attached, too: it was no program, but a child on its way to one. That does not hold where it was a
// program that cannot (static, foreign, secure, refused) and has executed this one, nor of what took less than YOUNG_NS: what
// those did is taken for this image's. A forked child has an image of its own before, and is not asked here.
static bool has_done_all(const struct ft_process *process, uint64_t start_time)
{
    int64_t made_ns = born_ns(start_time);
    if (process->image != FT_IMAGE_EXEC || process->start_ns - made_ns < YOUNG_NS)
        return true;
    return process->parent_since_ns && made_ns + TICK_NS >= process->parent_since_ns;
}

void ft_process_note_parent(struct ft_process *process, const struct ft_process *parent, bool is_private)
{
    bool is_command = is_private && getppid() > 1 && process->parent_pid == (uint32_t)getppid();
    process->parent_since_ns = parent ? parent->start_ns : is_command ? 1 : 0;
    if (process->end_counters.is_known)
        process->has_done_all = has_done_all(process, process->start_time);
}

void ft_process_read_counters(struct ft_process *process)
{
    struct ft_procfs_stat stat;
    if (read_counters(process, &process->counters, &stat) && !process->start_time)
        process->start_time = stat.start_time;
}

void ft_process_catch_end(struct ft_process *process, int state)
{
    struct ft_procfs_stat stat;
    if (state != FT_PROCESS_ENDED || !read_counters(process, &process->end_counters, &stat))
        return;
    process->start_time = stat.start_time;
    // Where it was over before it was admitted: what its pid did is all its own, or its last image's.
    process->has_done_all = process->is_exec || has_done_all(process, stat.start_time);
    if (stat.state == 'Z' && ft_procfs_shows_exit(process->uid))
        process->end_status = stat.exit_code;
}

void ft_process_note_end(struct ft_process *process, int state, int64_t now_ns)
{
    atomic_store(&process->ended_ns, now_ns);
    atomic_store(&process->state, state);
}

// What /proc says of a living process that executed something; nothing where it ended meanwhile. Its counters run on
// over exec: what the image before did is to be taken off. One that had no image before is not asked.
static void read_proc(struct ft_process *process, char *cgroup, size_t room, struct ft_identity_input *input)
{
    struct ft_procfs_stat stat = {0};
    struct ft_process_counters counters = {0};
    int n = ft_procfs_read(process->pid, "cgroup", cgroup, room);
    bool has_stat =
        ft_procfs_stat(process->pid, &stat) == 0 && (!process->start_time || stat.start_time == process->start_time);
    bool is_new = has_stat && !process->is_exec && has_done_all(process, stat.start_time);
    if (has_stat && !is_new)
        read_counters(process, &counters, &stat);
    if (!has_stat || !is_alive(process))
        return;
    process->start_time = stat.start_time;
    process->parent_pid = stat.parent_pid;
    process->counters = counters;
    input->session = stat.session;
    input->kernel_cgroup = (struct ft_bytes){.data = cgroup, .len = n > 0 ? (size_t)n : 0};
    process->first_counters = counters;
    process->first_counters.is_known |= is_new;
}

static uint32_t login_session_of(uint32_t pid)
{
    char text[16];
    int n = ft_procfs_read(pid, "sessionid", text, sizeof(text) - 1);
    if (n <= 0)
        return UINT32_MAX;
    text[n] = '\0';
    return (uint32_t)strtoul(text, NULL, 10);
}

uint32_t ft_process_private_session(void)
{
    static uint32_t session; // of who started us: we have one of our own
    if (!session)
        session = (uint32_t)getsid(getppid());
    return session;
}

static uint32_t login_session_of_private(void)
{
    static uint32_t session;
    static bool is_known;
    if (!is_known)
        session = login_session_of((uint32_t)getpid());
    is_known = true;
    return session;
}

// Of a process that is gone the kernel still has the number of its cgroup: what it told is true where it has that number.
static struct ft_bytes proven_cgroup(const struct ft_process *process, struct ft_bytes claimed)
{
    struct ft_bytes line = ft_identity_unified_line(claimed);
    uint64_t id = line.len && process->pidfd >= 0 ? ft_cgroup_id_of(process->pidfd) : 0;
    return id && ft_cgroup_id_is(id, line) ? line : (struct ft_bytes){.data = NULL, .len = 0};
}

// By its session, which is its relative's where the process was gone before it could be asked for.
static void identify_by_session(struct ft_process *process, const struct ft_process *relative,
                                struct ft_identity_input *input, bool is_private)
{
    struct ft_identity by_cgroup;
    bool is_told = ft_identity_session_from_cgroup(input->kernel_cgroup, &by_cgroup); // which says more
    if (is_private)
        input->login_session = login_session_of_private();
    else if (!is_told)
        input->login_session = login_session_of(process->pid);
    ft_identity_find(input, &process->identity);
    bool is_known = is_told || input->session || input->login_session != UINT32_MAX;
    if (relative && !is_known)
        ft_identity_inherit(&process->identity, &relative->identity);
    else if (relative)
        ft_identity_inherit_claim(&process->identity, &relative->identity);
}

void ft_process_identify(struct ft_process *process, const struct ft_process *relative, bool is_private)
{
    char cgroup[4096];
    struct ft_bytes claimed = process->cgroup;
    claimed.len = claimed.len < sizeof(cgroup) ? claimed.len : sizeof(cgroup);
    struct ft_identity_input input = {
        .claimed_cgroup = claimed, .environment = process->environment, .login_session = UINT32_MAX};
    // A forked child is what its parent is, in the same cgroup, and has done nothing yet. Of a process that is gone the
    // kernel tells nothing any more.
    bool is_young = process->image == FT_IMAGE_FORK && relative && relative->segment.id == process->parent_segment;
    if (is_young)
        process->first_counters.is_known = true;
    else if (is_alive(process))
        read_proc(process, cgroup, sizeof(cgroup), &input);
    if (!is_young && !input.kernel_cgroup.len)
        input.kernel_cgroup = proven_cgroup(process, claimed);
    bool is_gone = !is_young && !input.kernel_cgroup.len;
    if (is_private)
        input.session = ft_process_private_session();
    ft_identity_find(&input, &process->identity);
    if (relative && (is_young || is_gone)) {
        ft_identity_inherit(&process->identity, &relative->identity);
    } else if (process->identity.source == FT_JOB_SOURCE_SESSION) {
        identify_by_session(process, relative, &input, is_private);
    }
}

void ft_process_identify_stranger(uint32_t pid, struct ft_identity *out)
{
    char cgroup[4096];
    int n = ft_procfs_read(pid, "cgroup", cgroup, sizeof(cgroup));
    const struct ft_identity_input input = {.kernel_cgroup = {.data = cgroup, .len = n > 0 ? (size_t)n : 0},
                                            .login_session = login_session_of(pid)};
    ft_identity_find(&input, out);
    out->workflow = (struct ft_bytes){0};
}

void ft_process_destroy(struct ft_process *process)
{
    if (!process)
        return;
    ft_segment_close(&process->segment);
    ft_names_fini(&process->names);
    for (uint32_t i = 0; i < process->lines_count; i++) {
        free(process->lines[i].tags);
        free(process->lines[i].vforks);
        free(process->lines[i].exec.path);
    }
    ft_growth_fini(&process->growth);
    free(process->exec.path);
    free(process->lines);
    ft_tag_times_fini(&process->tags_all);
    free(process->lost);
    free(process->vforks_before);
    free(process->hello_bytes);
    if (process->pidfd >= 0)
        close(process->pidfd);
    free(process);
}
