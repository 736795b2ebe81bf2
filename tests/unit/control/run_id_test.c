/* run_id_test.c - ranks of one run have the same id, and two runs have different ids, by what each
 * launcher sets. */
#include "child.h"
#include "test.h"

#include <string.h>
#include <time.h>

#include "control/run_id.h"

static struct sl_config config;

static const char *run_of(char *out, const char *const *environment)
{
    static struct sl_identity who;

    sl_log_set_level(SL_LOG_OFF);
    sl_identity_read(&who, &config, (char *const *)environment);
    assert_true(!*who.run == !*config.run && !who.run_start_ns); /* no file of /proc is read yet */
    sl_run_id_find(&who);
    assert_true(strlen(who.run) > 0);
    return strcpy(out, who.run);
}

#define RUN(out, ...) run_of(out, (const char *const[]){__VA_ARGS__, NULL})
#define SAME(a, b)                                                                                 \
    do {                                                                                           \
        char first[65], second[65];                                                                \
        assert_string_equal(RUN(first, a), RUN(second, b));                                        \
    } while (0)
#define DIFFERENT(a, b)                                                                            \
    do {                                                                                           \
        char first[65], second[65];                                                                \
        assert_string_not_equal(RUN(first, a), RUN(second, b));                                    \
    } while (0)
#define AND ,

static int set_up(void **state)
{
    memset(&config, 0, sizeof(config));
    strcpy(config.output, "/data/traces");
    return 0;
}

/* ---- torchrun ---- */

#define ELASTIC "WORLD_SIZE=16", "LOCAL_WORLD_SIZE=8", "MASTER_ADDR=node0", "MASTER_PORT=29500"

static void torchrun_on_two_machines(void **state)
{
    SAME("RANK=0" AND "TORCHELASTIC_RUN_ID=a" AND ELASTIC,
         "RANK=9" AND "TORCHELASTIC_RUN_ID=a" AND ELASTIC);
    DIFFERENT("RANK=0" AND "TORCHELASTIC_RUN_ID=a" AND ELASTIC,
              "RANK=0" AND "TORCHELASTIC_RUN_ID=b" AND ELASTIC);
    /* Each machine counts only the restarts that its own ranks caused. */
    SAME("RANK=0" AND "TORCHELASTIC_RUN_ID=a" AND "TORCHELASTIC_RESTART_COUNT=1" AND ELASTIC,
         "RANK=9" AND "TORCHELASTIC_RUN_ID=a" AND "TORCHELASTIC_RESTART_COUNT=0" AND ELASTIC);
    /* A static rendezvous has no id, but an address. */
    SAME("RANK=0" AND "TORCHELASTIC_RUN_ID=none" AND ELASTIC,
         "RANK=9" AND "TORCHELASTIC_RUN_ID=none" AND ELASTIC);
    DIFFERENT("RANK=0" AND "MASTER_PORT=1" AND ELASTIC, "RANK=0" AND "MASTER_PORT=2" AND ELASTIC);
}

#define ALONE "WORLD_SIZE=2", "LOCAL_WORLD_SIZE=2", "TORCHELASTIC_RUN_ID=none"

static void torchrun_on_one_machine(void **state)
{
    SAME("RANK=0" AND ALONE, "RANK=1" AND ALONE);
    DIFFERENT("RANK=0" AND "TORCHELASTIC_RESTART_COUNT=0" AND ALONE,
              "RANK=0" AND "TORCHELASTIC_RESTART_COUNT=1" AND ALONE);
}

/* ---- Slurm ---- */

#define TASKS "SLURM_JOB_ID=77", "SLURM_NTASKS=16", "SLURM_NTASKS_PER_NODE=8"

static void srun(void **state)
{
    SAME("SLURM_PROCID=0" AND "SLURM_STEP_ID=0" AND TASKS,
         "SLURM_PROCID=9" AND "SLURM_STEP_ID=0" AND TASKS);
    DIFFERENT("SLURM_PROCID=0" AND "SLURM_STEP_ID=0" AND TASKS,
              "SLURM_PROCID=0" AND "SLURM_STEP_ID=1" AND TASKS);
    DIFFERENT("SLURM_PROCID=0" AND "SLURM_STEP_ID=0" AND TASKS, /* requeued */
              "SLURM_PROCID=0" AND "SLURM_STEP_ID=0" AND "SLURM_RESTART_COUNT=1" AND TASKS);
}

#define RANKS "SLURM_JOB_ID=77", "TORCHELASTIC_RUN_ID=77", ELASTIC

static void torchrun_in_srun(void **state)
{
    DIFFERENT("RANK=0" AND "SLURM_STEP_ID=0" AND "SLURM_STEP_NUM_NODES=2" AND RANKS,
              "RANK=0" AND "SLURM_STEP_ID=1" AND "SLURM_STEP_NUM_NODES=2" AND RANKS);
    /* One step for each machine. */
    SAME("RANK=0" AND "SLURM_STEP_ID=0" AND "SLURM_STEP_NUM_NODES=1" AND RANKS,
         "RANK=9" AND "SLURM_STEP_ID=1" AND "SLURM_STEP_NUM_NODES=1" AND RANKS);
}

/* ---- MPI ---- */

static void mpi(void **state)
{
    static const char *const says[][2] = {
        {"OMPI_COMM_WORLD_RANK", "OMPI_MCA_ess_base_jobid"},
        {"OMPI_COMM_WORLD_RANK", "PMIX_NAMESPACE"},
        {"PMI_RANK", "I_MPI_HYDRA_UUID"},
        {"PMIX_RANK", "PMIX_NAMESPACE"},
        {"MV2_COMM_WORLD_RANK", "MPIRUN_ID"},
        {"PALS_RANKID", "PALS_APID"},
    };

    for (size_t i = 0; i < sizeof(says) / sizeof(says[0]); i++) {
        char rank[2][64], id[2][64];

        for (int k = 0; k < 2; k++) {
            snprintf(rank[k], sizeof(rank[k]), "%s=%d", says[i][0], k);
            snprintf(id[k], sizeof(id[k]), "%s=%d", says[i][1], k + 100);
        }
        /* Only the first machine has the scheduler's variables. */
        SAME(rank[0] AND id[0] AND "PBS_JOBID=4", rank[1] AND id[0]);
        DIFFERENT(rank[0] AND id[0] AND "PBS_JOBID=4", rank[0] AND id[1] AND "PBS_JOBID=4");
    }
}

/* ---- without a launcher ---- */

static void our_own_name_wins_and_is_safe(void **state)
{
    char run[65];

    strcpy(config.run, "try/2");
    assert_string_equal(RUN(run, "RANK=1", "TORCHELASTIC_RUN_ID=a"), "try_2");
}

static void forked_processes_have_their_programs_run(void **state)
{
    char mine[65], its[65];
    pid_t child;

    RUN(mine, "PATH=/bin");
    child = fork();
    if (child == 0)
        _exit(strcmp(RUN(its, "PATH=/bin"), mine) != 0);
    assert_int_equal(result_of(child), 0);
    assert_string_equal(RUN(its, "SLURM_PROCID=0", "SLURM_NTASKS=4"), mine); /* a batch script */
}

static const char *self;

static void a_new_process_is_a_new_run(void **state)
{
    char mine[65], its[65] = "", command[512];
    FILE *out;

    snprintf(command, sizeof(command), "%s --print", self);
    out = popen(command, "r");
    assert_non_null(out);
    assert_non_null(fgets(its, sizeof(its), out));
    pclose(out);
    assert_string_not_equal(RUN(mine, "PATH=/bin"), its);
}

static void the_start_is_that_of_the_program(void **state)
{
    static struct sl_identity who;
    uint64_t now = (uint64_t)time(NULL) * 1000000000;

    sl_identity_read(&who, &config, (char *const[]){NULL});
    sl_run_id_find(&who);
    assert_true(who.run_start_ns > now - 3600000000000u && who.run_start_ns < now + 2000000000u);
}

#define CASE(name) cmocka_unit_test_setup(name, set_up)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CASE(torchrun_on_two_machines),
        CASE(torchrun_on_one_machine),
        CASE(srun),
        CASE(torchrun_in_srun),
        CASE(mpi),
        CASE(our_own_name_wins_and_is_safe),
        CASE(forked_processes_have_their_programs_run),
        CASE(a_new_process_is_a_new_run),
        CASE(the_start_is_that_of_the_program),
    };
    char run[65];

    self = argv[0];
    set_up(NULL);
    if (argc > 1)
        return puts(RUN(run, "PATH=/bin")) < 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
