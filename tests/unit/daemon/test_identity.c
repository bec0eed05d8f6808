// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/identity.h"

struct cgroup_case {
    const char *text, *job, *step;
    int rank; // -1 none
    const char *why;
};

#define POD "3a5c2a5e-9f1b-4d43-8d5b-1f6a0f5f1c1e"
#define CONTAINER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct cgroup_case cgroup_cases[] = {
    {"0::/system.slice/slurmstepd.scope/job_123/step_0/user/task_3\n", "123", "0", 3, "Slurm, cgroup v2"},
    {"0::/system.slice/slurmstepd.scope/job_123/step_batch/user/task_0\n", "123", "batch", 0, "a batch script"},
    {"0::/system.slice/slurmstepd.scope/job_9/step_extern/user/task_special\n", "9", "extern", -1,
     "no task of the step"},
    {"0::/system.slice/slurmstepd.scope/job_9/step_1/slurm\n", "9", "1", -1, "slurmstepd itself"},
    {"0::/system.slice/node7_slurmstepd.scope/job_8/step_2/user/task_1\n", "8", "2", 1, "one of several slurmd"},
    {"0::/lxc.payload/system.slice/slurmstepd.scope/job_8/step_2/user/task_1\n", "8", "2", 1, "slurmd in a container"},
    {"0::/system.slice/slurmstepd.scope/job_8/step_2/user/task_1/docker/abc\n", "8", "2", 1, "a container in a task"},
    {"0::/system.slice/slurmstepd.scope/job_8\n", "8", "", -1, "before a step"},
    {"0::/system.slice/slurmstepd.scope/system\n", NULL, NULL, -1, "where slurmstepd waits"},
    {"4:memory:/slurm/uid_1000/job_77/step_batch\n", "77", "batch", -1, "Slurm, cgroup v1"},
    {"9:cpuset:/\n4:memory:/slurm/uid_1000/job_77/step_5/task_2\n0::/\n", "77", "5", 2,
     "Slurm, v1, one hierarchy of many"},
    {"11:freezer:/slurm/uid_1000/job_77/step_5\n4:memory:/slurm/uid_1000/job_77/step_5/task_2\n", "77", "5", 2,
     "the line that tells most"},
    {"4:memory:/slurm_node1/uid_1000/job_77\n0::/\n", "77", "", -1, "Slurm before a step"},
    {"4:freezer:/slurm/system\n", NULL, NULL, -1, "slurmd itself, v1"},
    {"0::/user.slice/user-1000.slice/job_7/step_0\n", NULL, NULL, -1, "made by somebody else"},
    {"0::/pbspro.slice/pbspro-1234.server.slice/x\n", "1234.server", "", -1, "OpenPBS with systemd"},
    {"0::/pbspro.slice/pbspro-1234.pbs\\x2d01.slice\n", "1234.pbs-01", "", -1, "what systemd escaped"},
    {"9:cpuset:/pbs_jobs.service/jobid/88.srv\n", "88.srv", "", -1, "OpenPBS"},
    {"9:cpuset:/pbs_jobs.slice/pbs_jobs.service/jobid/88[3].srv\n", "88[3].srv", "", -1, "OpenPBS, array"},
    {"2:cpuset:/torque/12.head.example\n", "12.head.example", "", -1, "Torque"},
    {"3:cpu:/lsf/cl1/job.4711.2222.1600000000\n", "4711", "", -1, "LSF"},
    {"0::/user.slice/flux-f3XyZ.scope\n", "f3XyZ", "", -1, "Flux"},
    {"0::/user.slice/user-500.slice/user@500.service/imp-shell-0-f2cQzbN9gB.service\n", "f2cQzbN9gB", "", -1,
     "Flux, multi-user"},
    {"5:cpuset:/oar/alice_314\n", "314", "", -1, "OAR"},
    {"3:memory:/htcondor/condor_var_lib_condor_execute_slot1_2@node\n", "var_lib_condor_execute_slot1_2", "", -1,
     "HTCondor"},
    {"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod3a5c2a5e_9f1b_4d43_8d5b_1f6a0f5f1c1e.slice/"
     "cri-containerd-" CONTAINER ".scope\n",
     POD, CONTAINER, -1, "Kubernetes, containerd, systemd"},
    {"0::/kubepods.slice/kubepods-pod3a5c2a5e_9f1b_4d43_8d5b_1f6a0f5f1c1e.slice/crio-" CONTAINER ".scope/container\n",
     POD, CONTAINER, -1, "Kubernetes, CRI-O, guaranteed"},
    {"0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
     "kubelet-kubepods-besteffort-pod3a5c2a5e_9f1b_4d43_8d5b_1f6a0f5f1c1e.slice/cri-containerd-" CONTAINER ".scope\n",
     POD, CONTAINER, -1, "Kubernetes in a container of its own"},
    {"4:memory:/kubepods/besteffort/pod" POD "/" CONTAINER "\n", POD, CONTAINER, -1, "Kubernetes, cgroupfs"},
    {"4:memory:/kubepods/pod" POD "/" CONTAINER "\n", POD, CONTAINER, -1, "Kubernetes, cgroupfs, guaranteed"},
    {"0::/../../kubepods/burstable/pod" POD "/" CONTAINER "\n", POD, CONTAINER, -1, "seen from another container"},
    {"0::/user.slice/user-0.slice/session-3.scope\n", NULL, NULL, -1, "a login session is no job"},
    {"0::/\n", NULL, NULL, -1, "nothing"},
    {"", NULL, NULL, -1, "empty"},
    {"0::/slurm/uid_0/job_/step_1\n", NULL, NULL, -1, "a job needs a name"},
    {"0::/slurm/uid_0/myjob_5\n", NULL, NULL, -1, "a component has to match whole"},
    {"no slash at all\n\n\n", NULL, NULL, -1, "no path"},
};

static void check_cgroup_case(const struct cgroup_case *one, const char *text)
{
    struct ft_identity identity = {.rank = -1};
    bool found = ft_identity_from_cgroup(FT_BYTES(text), FT_JOB_SOURCE_CGROUP, &identity);
    if (found != (one->job != NULL))
        fail_msg("%s: %d", one->why, found);
    bool is_right = !found || (strcmp(identity.job, one->job) == 0 && strcmp(identity.step, one->step) == 0 &&
                               identity.rank == one->rank && identity.source == FT_JOB_SOURCE_CGROUP &&
                               (identity.rank_source == FT_JOB_SOURCE_CGROUP) == (one->rank >= 0) &&
                               (identity.step_source == FT_JOB_SOURCE_CGROUP) == (one->step[0] != 0));
    if (!is_right)
        fail_msg("%s: job %s step %s rank %d", one->why, identity.job, identity.step, identity.rank);
}

static void test_jobs_are_known_by_their_cgroup(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cgroup_cases) / sizeof(cgroup_cases[0]); i++)
        for (int again = 0; again < 2; again++) // the second time it is remembered
            check_cgroup_case(&cgroup_cases[i], cgroup_cases[i].text);
}

// More lines than are remembered, that say nothing, before the one that does.
static void test_jobs_are_known_at_the_end_of_a_long_text(void **state)
{
    static char text[16384];
    (void)state;
    for (size_t i = 0; i < sizeof(cgroup_cases) / sizeof(cgroup_cases[0]); i++) {
        size_t used = 0;
        while (used < 4096)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%zu:name=none:/\n", used);
        snprintf(text + used, sizeof(text) - used, "%s", cgroup_cases[i].text);
        check_cgroup_case(&cgroup_cases[i], text);
    }
}

struct session_case {
    const char *text, *job, *why;
};

static const struct session_case session_cases[] = {
    {"0::/user.slice/user-0.slice/session-3.scope\n", "session-3", "a login"},
    {"1:name=systemd:/user.slice/user-0.slice/session-c2.scope\n", "session-c2", "a login of logind's own, v1"},
    {"0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-u7.scope\n", "run-u7",
     "systemd-run --user --scope"},
    {"0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-org.gnome.Terminal.slice/vte-spawn-1.scope\n",
     "vte-spawn-1", "a terminal's tab"},
    {"0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-a\\x2db-1.scope\n", "app-a-b-1", "an application"},
    {"0::/system.slice/cron.service\n", NULL, "a service is no session"},
};

static void test_sessions_are_known_by_their_scope(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(session_cases) / sizeof(session_cases[0]); i++) {
        const struct session_case *one = &session_cases[i];
        struct ft_identity identity = {.rank = -1};
        bool found = ft_identity_session_from_cgroup(FT_BYTES(one->text), &identity);
        if (found != (one->job != NULL) || (found && strcmp(identity.job, one->job) != 0))
            fail_msg("%s: %d %s", one->why, found, identity.job);
    }
}

#define ENVIRONMENT(text) ((struct ft_bytes){.data = (text), .len = sizeof(text) - 1})

static void test_the_kernel_goes_before_claims_and_claims_before_the_session(void **state)
{
    struct ft_identity identity;
    struct ft_identity_input input = {
        .kernel_cgroup = FT_BYTES("0::/slurm/uid_0/job_5/step_1\n"),
        .environment = ENVIRONMENT("SLURM_JOB_ID=6\0SLURM_PROCID=3\0SLURM_LOCALID=1\0FLOWTAP_WORKFLOW=w\0"),
        .login_session = 9,
        .session = 10,
    };
    (void)state;
    ft_identity_find(&input, &identity);
    assert_string_equal(identity.job, "5");
    assert_int_equal(identity.source, FT_JOB_SOURCE_CGROUP);
    assert_int_equal(identity.rank, 3);
    assert_int_equal(identity.local_rank, 1);
    assert_int_equal(identity.workflow.len, 1);
    input.kernel_cgroup.len = 0;
    ft_identity_find(&input, &identity);
    assert_string_equal(identity.job, "6");
    assert_int_equal(identity.source, FT_JOB_SOURCE_ENVIRONMENT);
    input.environment = ENVIRONMENT("RANK=x\0HOME=/\0");
    ft_identity_find(&input, &identity);
    assert_string_equal(identity.job, "session-9");
    assert_int_equal(identity.source, FT_JOB_SOURCE_SESSION);
    assert_int_equal(identity.rank, -1);
    input.login_session = UINT32_MAX;
    ft_identity_find(&input, &identity);
    assert_string_equal(identity.job, "session-10");
    input.kernel_cgroup = FT_BYTES("0::/user.slice/user-0.slice/session-c2.scope");
    ft_identity_find(&input, &identity);
    assert_string_equal(identity.job, "session-c2");
}

struct claim_case {
    struct ft_bytes environment;
    const char *job, *step;
    int rank, local_rank;
    const char *why;
};

static const struct claim_case claim_cases[] = {
    {ENVIRONMENT("SLURM_JOB_ID=7\0SLURM_STEP_ID=1\0SLURM_PROCID=3\0SLURM_LOCALID=1\0"), "7", "1", 3, 1, "Slurm"},
    {ENVIRONMENT("SLURM_JOB_ID=7\0SLURM_STEP_ID=4294967290\0"), "7", "interactive", -1, -1, "a step by its number"},
    {ENVIRONMENT("SLURM_JOB_ID=7\0SLURM_PROCID=0\0SLURM_LOCALID=0\0OMPI_COMM_WORLD_RANK=5\0"
                 "OMPI_COMM_WORLD_LOCAL_RANK=2\0"),
     "7", "", 5, 2, "mpirun in a batch script"},
    {ENVIRONMENT("SLURM_JOB_ID=7\0SLURM_PROCID=1\0RANK=9\0LOCAL_RANK=1\0WORLD_SIZE=16\0"), "7", "", 9, 1,
     "torchrun in a task"},
    {ENVIRONMENT("SLURM_JOB_ID=7\0SLURM_PROCID=1\0RANK=9\0"), "7", "", 1, -1, "a variable that is called so"},
    {ENVIRONMENT("FLUX_JOB_ID=\xc6\x92"
                 "2Xy\0FLUX_TASK_RANK=4\0FLUX_TASK_LOCAL_ID=0\0"),
     "f2Xy", "", 4, 0, "Flux"},
    {ENVIRONMENT("FLUX_JOB_ID=f2Xy\0"), "f2Xy", "", -1, -1, "Flux in ASCII"},
    {ENVIRONMENT("PBS_JOBID=1234.server\0PMI_RANK=2\0"), "1234.server", "", 2, -1, "OpenPBS, MPICH"},
    {ENVIRONMENT("LSB_JOBID=4711\0LSB_JOBINDEX=3\0PMIX_RANK=6\0"), "4711", "3", 6, -1, "LSF, an array"},
    {ENVIRONMENT("MV2_COMM_WORLD_RANK=1\0MV2_COMM_WORLD_LOCAL_RANK=1\0"), "session-9", "", 1, 1, "MVAPICH on ssh"},
    {ENVIRONMENT("FLOWTAP_JOB=mine\0SLURM_JOB_ID=7\0"), "mine", "", -1, -1, "what the user calls it"},
    {ENVIRONMENT("SLURM_JOB_ID=\0SLURM_PROCID=-1\0SLURM_LOCALID=99999999999\0"), "session-9", "", -1, -1, "no values"},
};

static void test_claims_are_read_from_the_environment(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(claim_cases) / sizeof(claim_cases[0]); i++) {
        const struct claim_case *one = &claim_cases[i];
        const struct ft_identity_input input = {.environment = one->environment, .login_session = 9};
        struct ft_identity identity;
        ft_identity_find(&input, &identity);
        bool is_right = strcmp(identity.job, one->job) == 0 && strcmp(identity.step, one->step) == 0 &&
                        identity.rank == one->rank && identity.local_rank == one->local_rank &&
                        (identity.rank_source == FT_JOB_SOURCE_ENVIRONMENT) == (one->rank >= 0) &&
                        (identity.local_rank_source == FT_JOB_SOURCE_ENVIRONMENT) == (one->local_rank >= 0);
        if (!is_right)
            fail_msg("%s: job %s step %s rank %d local %d", one->why, identity.job, identity.step, identity.rank,
                     identity.local_rank);
        // What is read has to be sent.
        for (size_t at = 0; at < one->environment.len; at += strlen(one->environment.data + at) + 1)
            if (one->environment.data[at] && !ft_setting_is_claim(one->environment.data + at))
                fail_msg("%s is not sent", one->environment.data + at);
    }
}

static void test_the_environment_knows_a_rank_better_than_the_cgroup(void **state)
{
    struct ft_identity identity;
    struct ft_identity_input input = {
        .kernel_cgroup = FT_BYTES("0::/system.slice/slurmstepd.scope/job_5/step_1/user/task_0\n"),
        .environment = ENVIRONMENT("PMIX_RANK=3\0"),
        .login_session = UINT32_MAX,
    };
    (void)state;
    ft_identity_find(&input, &identity);
    assert_int_equal(identity.rank, 3);
    assert_int_equal(identity.rank_source, FT_JOB_SOURCE_ENVIRONMENT);
    assert_int_equal(identity.step_source, FT_JOB_SOURCE_CGROUP);
    input.environment.len = 0;
    ft_identity_find(&input, &identity);
    assert_int_equal(identity.rank, 0);
    assert_int_equal(identity.rank_source, FT_JOB_SOURCE_CGROUP);
    // What a process says of its cgroup is a claim.
    input.claimed_cgroup = input.kernel_cgroup;
    input.kernel_cgroup.len = 0;
    ft_identity_find(&input, &identity);
    assert_string_equal(identity.job, "5");
    assert_int_equal(identity.source, FT_JOB_SOURCE_ENVIRONMENT);
    assert_int_equal(identity.rank_source, FT_JOB_SOURCE_ENVIRONMENT);
}

static void test_a_process_that_cleaned_its_environment_stays_in_its_job(void **state)
{
    struct ft_identity parent, child;
    const struct ft_identity_input input = {.environment =
                                                ENVIRONMENT("SLURM_JOB_ID=7\0SLURM_STEP_ID=1\0SLURM_PROCID=3\0"),
                                            .login_session = 9},
                                   cleaned = {.login_session = 9},
                                   other = {.environment = ENVIRONMENT("SLURM_JOB_ID=8\0"), .login_session = 9};
    (void)state;
    ft_identity_find(&input, &parent);
    ft_identity_find(&cleaned, &child);
    ft_identity_inherit_claim(&child, &parent);
    assert_string_equal(child.job, "7");
    assert_string_equal(child.step, "1");
    assert_int_equal(child.rank, 3);
    assert_int_equal(child.source, FT_JOB_SOURCE_ENVIRONMENT);
    ft_identity_find(&other, &child);
    ft_identity_inherit_claim(&child, &parent);
    assert_string_equal(child.job, "8");
    ft_identity_find(&cleaned, &parent);
    ft_identity_find(&cleaned, &child);
    ft_identity_inherit_claim(&child, &parent);
    assert_int_equal(child.source, FT_JOB_SOURCE_SESSION);
}

static void test_the_unified_line_is_found(void **state)
{
    (void)state;
    struct ft_bytes line = ft_identity_unified_line(FT_BYTES("4:memory:/a\n0::/b/c\n1:x:/\n"));
    assert_int_equal(line.len, 7);
    assert_memory_equal(line.data, "0::/b/c", 7);
    assert_int_equal(ft_identity_unified_line(FT_BYTES("4:memory:/0::/a\n")).len, 0);
    assert_int_equal(ft_identity_unified_line(FT_BYTES("")).len, 0);
    assert_int_equal(ft_identity_unified_line(FT_BYTES("0::/")).len, 4);
}

static void test_tags_are_split_and_odd_ones_counted(void **state)
{
    struct ft_tag tags[3];
    unsigned ignored = 0;
    (void)state;
    assert_int_equal(ft_identity_tags(FT_BYTES("a=1,b=,=x,c,,d=e=f,g=h"), tags, 3, &ignored), 3);
    assert_int_equal(ignored, 3);
    assert_memory_equal(tags[0].key.data, "a", 1);
    assert_int_equal(tags[1].value.len, 0);
    assert_memory_equal(tags[2].value.data, "e=f", 3);
    ignored = 0;
    assert_int_equal(ft_identity_tags(FT_BYTES(","), tags, 3, &ignored), 0);
    assert_int_equal(ft_identity_tags(FT_BYTES(""), tags, 3, &ignored), 0);
    assert_int_equal(ignored, 0);
}

// It would take hours if each hole of a pattern were tried with each end of the others.
static void test_a_hostile_cgroup_line_costs_little(void **state)
{
    static const char *const fillings[] = {"_", "kubepods-pod", "slurmstepd.scope", "condor_", ".", "shell-", "-pod"};
    static char text[4096];
    struct ft_identity identity;
    (void)state;
    for (size_t f = 0; f < sizeof(fillings) / sizeof(fillings[0]); f++) {
        memcpy(text, "0::/htcondor/condor_", 20);
        for (size_t i = 20; i < sizeof(text); i++)
            text[i] = i % 200 == 199 ? '/' : fillings[f][i % strlen(fillings[f])];
        struct ft_bytes line = {.data = text, .len = sizeof(text)};
        assert_false(ft_identity_from_cgroup(line, FT_JOB_SOURCE_CGROUP, &identity));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_are_known_by_their_cgroup),
        cmocka_unit_test(test_jobs_are_known_at_the_end_of_a_long_text),
        cmocka_unit_test(test_the_kernel_goes_before_claims_and_claims_before_the_session),
        cmocka_unit_test(test_sessions_are_known_by_their_scope),
        cmocka_unit_test(test_claims_are_read_from_the_environment),
        cmocka_unit_test(test_the_environment_knows_a_rank_better_than_the_cgroup),
        cmocka_unit_test(test_a_process_that_cleaned_its_environment_stays_in_its_job),
        cmocka_unit_test(test_the_unified_line_is_found),
        cmocka_unit_test(test_tags_are_split_and_odd_ones_counted),
        cmocka_unit_test(test_a_hostile_cgroup_line_costs_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
