/* identity_test.c - reads rank, job and folder from the environment that a launcher sets, also from
 * invalid values. */
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "control/identity.h"

static struct sl_config config;
static struct sl_identity who;

static void read_identity(const char *const *environment)
{
    sl_log_set_level(SL_LOG_OFF);
    sl_identity_read(&who, &config, (char *const *)environment);
}

#define READ(...) read_identity((const char *const[]){__VA_ARGS__, NULL})

static int set_up(void **state)
{
    memset(&config, 0, sizeof(config));
    strcpy(config.output, "/data/traces");
    return 0;
}

static void each_launcher_tells_its_rank(void **state)
{
    static const struct {
        const char *rank, *world_size;
    } tells[] = {
        {"RANK", "WORLD_SIZE"},                           /* torchrun */
        {"SLURM_PROCID", "SLURM_NTASKS"},                 /* srun */
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, /* Open MPI */
        {"PMI_RANK", "PMI_SIZE"},                         /* MPICH, Intel MPI */
        {"PMIX_RANK", "PMIX_SIZE"},                       /* PMIx */
        {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},   /* MVAPICH */
        {"PALS_RANKID", "PALS_NRANKS"},                   /* Cray PALS */
        {"JOB_COMPLETION_INDEX", "JOB_COMPLETIONS"},      /* Kubernetes */
    };
    char rank[64], world_size[64];

    for (size_t i = 0; i < sizeof(tells) / sizeof(*tells); i++) {
        snprintf(rank, sizeof(rank), "%s=5", tells[i].rank);
        snprintf(world_size, sizeof(world_size), "%s=16", tells[i].world_size);
        READ(world_size, rank);
        assert_string_equal(who.rank_source, tells[i].rank);
        assert_int_equal(who.rank, 5);
        assert_int_equal(who.world_size, 16);
        READ(rank); /* like Kubernetes */
        assert_int_equal(who.rank, 5);
        assert_int_equal(who.world_size, 6);
    }
}

static void each_scheduler_names_the_job(void **state)
{
    static const char *const names[] = {
        "TORCHELASTIC_RUN_ID", /* torchrun --rdzv-id */
        "SLURM_JOB_ID",        /* Slurm */
        "PBS_JOBID",           /* PBS */
        "LSB_JOBID",           /* LSF */
        "JOB_ID",              /* Grid Engine */
        "RAY_JOB_ID",
        "RAY_SUBMISSION_ID", /* Ray */
        "JOBSET_NAME",       /* Kubernetes' JobSet */
        "VC_JOB_NAME",       /* Volcano */
        "PMIX_NAMESPACE",    /* PMIx */
    };
    char said[64];

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(said, sizeof(said), "%s=4711.server-%zu", names[i], i);
        READ(said, "RANK=1");
        assert_string_equal(who.job, strchr(said, '=') + 1);
        assert_non_null(strstr(who.folder.path, who.job));
    }
    READ("TORCHELASTIC_RUN_ID=none", "SLURM_JOB_ID=77"); /* torchrun without a job name */
    assert_string_equal(who.job, "77");
    READ("TORCHELASTIC_RUN_ID=8709a3d1-ab9f-44fc-9be9-afc5d0109978"); /* torchrun --standalone */
    assert_string_equal(who.job, "local");
    READ("TORCHELASTIC_RUN_ID=8709a3d1-ab9f-44fc-9be9-afc5d0109978-my-job");
    assert_string_equal(who.job, "8709a3d1-ab9f-44fc-9be9-afc5d0109978-my-job");
}

static void without_a_launcher(void **state)
{
    READ("PATH=/bin");
    assert_int_equal(who.rank, 0);
    assert_int_equal(who.world_size, 1);
    assert_null(who.rank_source);
    assert_string_equal(who.job, "local");
    assert_true(strlen(who.host) > 0);
    /* the kernel keeps 15 characters of a name */
    assert_string_equal(who.process_name, "control.identit");
}

static void garbage_is_passed_over(void **state)
{
    READ("RANK=two", "SLURM_PROCID=4", "SLURM_NTASKS=many");
    assert_int_equal(who.rank, 4);
    assert_int_equal(who.world_size, 5); /* at least */
    READ("RANK=-1");
    assert_int_equal(who.rank, 0);
    assert_null(who.rank_source);
    READ("RANK=99999999999", "RANK_X=3");
    assert_int_equal(who.rank, 0);
    READ("RANK=9", "WORLD_SIZE=4");
    assert_int_equal(who.world_size, 10);
}

static void our_own_name_of_the_job_wins_and_is_safe(void **state)
{
    char expect[512];

    strcpy(config.job, "../etc/pass wd");
    READ("RANK=2", "SLURM_JOB_ID=1");
    assert_string_equal(who.job, "_._etc_pass_wd");
    strcpy(config.job, "llama-7b.v2");
    READ("RANK=2", "SLURM_JOB_ID=1");
    assert_string_equal(who.job, "llama-7b.v2");
    snprintf(expect, sizeof(expect), "-2-%d", getpid());
    assert_non_null(strstr(who.folder.path, expect));
    assert_int_equal(strncmp(who.folder.path, "/data/traces/llama-7b.v2/", 25), 0);
}

static void sanitising(void **state)
{
    char out[8];

    sl_identity_sanitise(out, sizeof(out), "a/b\nc\xff");
    assert_string_equal(out, "a_b_c_");
    sl_identity_sanitise(out, sizeof(out), "..");
    assert_string_equal(out, "_.");
    sl_identity_sanitise(out, sizeof(out), "0123456789");
    assert_string_equal(out, "0123456");
    sl_identity_sanitise(out, sizeof(out), "");
    assert_string_equal(out, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_launcher_tells_its_rank, set_up),
        cmocka_unit_test_setup(each_scheduler_names_the_job, set_up),
        cmocka_unit_test_setup(without_a_launcher, set_up),
        cmocka_unit_test_setup(garbage_is_passed_over, set_up),
        cmocka_unit_test_setup(our_own_name_of_the_job_wins_and_is_safe, set_up),
        cmocka_unit_test(sanitising),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
