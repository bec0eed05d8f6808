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
    const char *text, *job, *step, *why;
};

static const struct cgroup_case cgroup_cases[] = {
    {"0::/system.slice/slurmstepd.scope/job_123/step_0/user/task_0\n", "123", "0", "Slurm, cgroup v2"},
    {"4:memory:/slurm/uid_1000/job_77/step_batch\n", "77", "batch", "Slurm, cgroup v1"},
    {"4:memory:/slurm_node1/uid_1000/job_77\n0::/\n", "77", "", "Slurm before a step"},
    {"0::/pbspro.slice/pbspro-1234.server.slice/x\n", "1234", "", "OpenPBS with systemd"},
    {"9:cpuset:/pbs_jobs.service/jobid/88.srv\n", "88.srv", "", "OpenPBS"},
    {"3:cpu:/lsf/cl1/job.4711.2222.1600000000\n", "4711", "", "LSF"},
    {"0::/user.slice/flux-f3XyZ.scope\n", "f3XyZ", "", "Flux"},
    {"0::/user.slice/user-0.slice/session-3.scope\n", NULL, NULL, "a login session is no job"},
    {"0::/\n", NULL, NULL, "nothing"},
    {"", NULL, NULL, "empty"},
    {"0::/myjob_5x/job_/step_1\n", NULL, NULL, "a component has to match whole, a job needs a name"},
    {"no slash at all\n\n\n", NULL, NULL, "no path"},
};

static void test_jobs_are_known_by_their_cgroup(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cgroup_cases) / sizeof(cgroup_cases[0]); i++) {
        const struct cgroup_case *one = &cgroup_cases[i];
        struct ft_identity identity = {0};
        bool found = ft_identity_from_cgroup(FT_BYTES(one->text), &identity);
        if (found != (one->job != NULL))
            fail_msg("%s: %d", one->why, found);
        if (found && (strcmp(identity.job, one->job) != 0 || strcmp(identity.step, one->step) != 0))
            fail_msg("%s: job %s step %s", one->why, identity.job, identity.step);
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

static void test_a_hostile_cgroup_line_costs_little(void **state)
{
    static char text[4096];
    struct ft_identity identity;
    (void)state;
    memcpy(text, "0::/htcondor/condor_", 20);
    for (size_t i = 20; i < sizeof(text); i++)
        text[i] = i % 200 == 199 ? '/' : '_';
    assert_false(ft_identity_from_cgroup((struct ft_bytes){.data = text, .len = sizeof(text)}, &identity));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_are_known_by_their_cgroup),
        cmocka_unit_test(test_the_kernel_goes_before_claims_and_claims_before_the_session),
        cmocka_unit_test(test_tags_are_split_and_odd_ones_counted),
        cmocka_unit_test(test_a_hostile_cgroup_line_costs_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
