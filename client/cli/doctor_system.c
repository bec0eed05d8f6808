// SPDX-License-Identifier: MIT
/* Checks of what the machine and the limits of this shell allow. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "client/cli/doctor.h"
#include "client/cli/units.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

enum { KERNEL_MAJOR = 5, KERNEL_MINOR = 4 };
enum { FILES_NEEDED = 5 }; /* 0, 1, 2, and for a moment the memory and the socket */
#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

void ft_doctor_kernel(struct ft_doctor *doctor)
{
    struct utsname name;
    unsigned major = 0, minor = 0;
    if (uname(&name) < 0 || sscanf(name.release, "%u.%u", &major, &minor) != 2) {
        ft_doctor_note(doctor, NULL, NULL, "the kernel's version cannot be read");
    } else if (major < KERNEL_MAJOR || (major == KERNEL_MAJOR && minor < KERNEL_MINOR)) {
        ft_doctor_problem(doctor, NULL, "use a newer kernel", "Linux %s is older than %d.%d, which tracing needs",
                          name.release, KERNEL_MAJOR, KERNEL_MINOR);
    } else {
        ft_doctor_ok(doctor, NULL, "Linux %s", name.release);
    }
}

static struct rlimit limit_of(int resource)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    getrlimit((__rlimit_resource_t)resource, &limit);
    return limit;
}

static uint64_t segment_bytes(void)
{
    return limit_of(RLIMIT_AS).rlim_cur < FT_ADDRESS_SPACE_SMALL ? FT_SEGMENT_BYTES_SMALL : FT_SEGMENT_BYTES_WHOLE;
}

void ft_doctor_limits(struct ft_doctor *doctor)
{
    struct rlimit files = limit_of(RLIMIT_NOFILE), size = limit_of(RLIMIT_FSIZE), space = limit_of(RLIMIT_AS);
    struct ft_unit_text bytes, needed;
    size_t before = doctor->finding_count;
    doctor->lacks_files = files.rlim_cur < FILES_NEEDED + 3;
    if (files.rlim_max < FILES_NEEDED) {
        ft_doctor_problem(doctor, NULL, "raise the hard limit (ulimit -Hn)",
                          "only %" PRIu64 " files may be open at a time: attaching needs two descriptors for a moment, "
                          "and programs stay untraced (gap rlimit)",
                          (uint64_t)files.rlim_max);
    }
    if (doctor->lacks_files && files.rlim_max >= FILES_NEEDED) {
        ft_doctor_note(doctor, NULL, "raise the limit (ulimit -n): `flowtap run` needs more",
                       "only %" PRIu64 " files may be open at a time: nothing is tried here", (uint64_t)files.rlim_cur);
    }
    if (size.rlim_max < segment_bytes()) {
        ft_doctor_problem(doctor, NULL, "raise the hard limit (ulimit -Hf)",
                          "files may not be larger than %s: the memory that events go to takes %s, and programs stay "
                          "untraced (gap rlimit)",
                          ft_units_bytes(&bytes, size.rlim_max), ft_units_bytes(&needed, segment_bytes()));
    } else if (size.rlim_max != RLIM_INFINITY) {
        ft_doctor_note(doctor, NULL,
                       "raise the hard limit (ulimit -Hf) for a long `flowtap run`, whose daemon has it too",
                       "files may not be larger than %s, a trace neither", ft_units_bytes(&bytes, size.rlim_max));
    }
    if (space.rlim_cur < FT_ADDRESS_SPACE_SMALL) {
        ft_doctor_note(doctor, NULL, "raise the limit (ulimit -v) if events are dropped (ring_full)",
                       "programs have %s of address space: they get a ring of %s instead of %s",
                       ft_units_bytes(&bytes, space.rlim_cur), "1 MiB", "16 MiB");
    }
    if (doctor->finding_count == before) {
        ft_doctor_ok(doctor, NULL, "no limit is in the way");
    }
}

/* The steps of attaching, as the recorder takes them. NULL, or the step that failed, with errno. */
static const char *try_memory(int *fd)
{
    uint64_t bytes = segment_bytes();
    *fd = memfd_create("flowtap-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (*fd < 0 && errno == EINVAL) {
        *fd = memfd_create("flowtap-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    }
    if (*fd < 0) {
        return "memfd_create";
    }
    if (fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK) < 0) {
        return "F_ADD_SEALS";
    }
    if (ftruncate(*fd, (off_t)bytes) < 0) {
        return "ftruncate";
    }
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (memory == MAP_FAILED) {
        return "mmap";
    }
    munmap(memory, bytes);
    return fallocate(*fd, 0, 0, (off_t)FT_CHUNKS_AT_ATTACH * FT_PAGE_BYTES) < 0 ? "fallocate" : NULL;
}

void ft_doctor_memory(struct ft_doctor *doctor)
{
    struct rlimit size = limit_of(RLIMIT_FSIZE), raised = size;
    int fd = -1;
    if (size.rlim_max < segment_bytes()) {
        return; /* the check of limits has told */
    }
    raised.rlim_cur = size.rlim_max;
    setrlimit(RLIMIT_FSIZE, &raised); /* else ftruncate would send SIGXFSZ */
    const char *step = try_memory(&fd);
    int error = errno;
    setrlimit(RLIMIT_FSIZE, &size);
    if (fd >= 0) {
        close(fd);
    }
    if (step) {
        bool is_filter = error == EPERM || error == ENOSYS || error == EACCES;
        ft_doctor_problem(doctor, NULL,
                          is_filter         ? "let the sandbox (seccomp, container) allow it"
                          : error == EMFILE ? "raise the limit of open files (ulimit -n)"
                          : error == ENFILE ? "raise the system's limit (fs.file-max)"
                                            : "free memory, or raise the limit of it (ulimit -v, memory cgroup)",
                          "the memory that events go to cannot be had: %s: %s", step, strerror(error));
    } else {
        ft_doctor_ok(doctor, NULL, "the memory that events go to can be had");
    }
}

/* The number behind a word of /proc/self/status; -1 where it is not there. */
static int status_number(FILE *status, const char *word)
{
    char line[512];
    int number = -1;
    rewind(status);
    while (number < 0 && fgets(line, sizeof(line), status)) {
        if (strncmp(line, word, strlen(word)) == 0) {
            number = atoi(line + strlen(word));
        }
    }
    return number;
}

void ft_doctor_sandbox(struct ft_doctor *doctor)
{
    FILE *status = fopen("/proc/self/status", "re");
    if (!status) {
        doctor->lacks_proc = true;
        ft_doctor_problem(doctor, "/proc",
                          errno == EMFILE ? "raise the limit of open files (ulimit -n)"
                                          : "mount it (mount -t proc proc /proc)",
                          "/proc/self/status cannot be read (%s): who a process is and how it ended comes from there",
                          strerror(errno));
        return;
    }
    bool has_filter = status_number(status, "Seccomp:") == 2;
    fclose(status);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        ft_doctor_problem(doctor, NULL, "let the sandbox allow it", "no socket can be made: %s%s", strerror(errno),
                          has_filter ? "; a seccomp filter is in force" : "");
        return;
    }
    close(fd);
    ft_doctor_ok(doctor, NULL,
                 has_filter ? "a seccomp filter is in force, which allows what attaching needs"
                            : "no seccomp filter is in force");
}

void ft_doctor_clock(struct ft_doctor *doctor)
{
    char name[64] = "";
    FILE *file = fopen(CLOCKSOURCE, "re");
    if (file) {
        if (!fgets(name, sizeof(name), file)) {
            name[0] = '\0';
        }
        name[strcspn(name, "\n")] = '\0';
        fclose(file);
    }
    if (!name[0]) {
        ft_doctor_ok(doctor, NULL, "the kernel does not say what its clock is");
    } else if (strcmp(name, "tsc") == 0 || strcmp(name, "arch_sys_counter") == 0) {
        ft_doctor_ok(doctor, NULL, "the kernel trusts the processor's counter (%s)", name);
    } else {
        ft_doctor_note(doctor, CLOCKSOURCE, NULL,
                       "the kernel's clock is %s, not the processor's counter: an event costs more, nothing is lost",
                       name);
    }
}
