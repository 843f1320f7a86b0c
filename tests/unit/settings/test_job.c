#include <stdlib.h>

#include "base/alloc.h"
#include "settings/settings.h"
#include "support/cmocka.h"

enum { MOST_WORDS = 32 };

// The job of a command line, whose words are separated by spaces. Owned: rk_free.
static char *job_of(const char *line) {
    rk_autofree char *words = rk_strdup(line);
    const char *argv[MOST_WORDS];
    int argc = 0;
    for (char *next = words; *next && argc < MOST_WORDS;) {
        argv[argc++] = next;
        next += strcspn(next, " ");
        if (*next)
            *next++ = '\0';
    }
    char *job = NULL;
    rk_autoerr err = rk_job_derive(argc, argv, &job);
    if (err)
        fail_msg("%s: %s", line, rk_err_message(err));
    return job;
}

static void expect_same(const char *a, const char *b) {
    rk_autofree char *left = job_of(a);
    rk_autofree char *right = job_of(b);
    if (strcmp(left, right) != 0)
        fail_msg("\"%s\" is %s, but \"%s\" is %s", a, left, b, right);
}

static void expect_different(const char *a, const char *b) {
    rk_autofree char *left = job_of(a);
    rk_autofree char *right = job_of(b);
    if (strcmp(left, right) == 0)
        fail_msg("\"%s\" and \"%s\" are both %s", a, b, left);
}

static void expect_stem(const char *line, const char *stem) {
    rk_autofree char *job = job_of(line);
    char *dash = strrchr(job, '-');
    assert_non_null(dash);
    assert_int_equal(strlen(dash + 1), 12);
    assert_int_equal(strspn(dash + 1, "0123456789abcdef"), 12);
    *dash = '\0';
    if (strcmp(job, stem) != 0)
        fail_msg("the stem of \"%s\" is \"%s\", not \"%s\"", line, job, stem);
}

static void a_restart_is_the_same_job(void **state) {
    (void)state;
    expect_same(
        "python train.py --lr 1e-3 --run-id 20261121-1201 --port 41231 --logdir /tmp/tmpab12/x",
        "python train.py --lr 1e-3 --run-id 20261122-0915 --port 38711 --logdir /tmp/tmpzz99/y");
    expect_same("python train.py --master_port=29500 --resume ckpt_20261121",
                "python train.py --master_port=29777 --resume ckpt_20261122");
    expect_same("python train.py --run-id alpha", "python train.py --run-id beta");
    expect_same("python train.py --process_id=0", "python train.py --process_id=3");
}

static void another_script_or_parameter_is_another_job(void **state) {
    (void)state;
    expect_different("python train.py", "python eval.py");
    expect_different("python train.py --lr 1e-3", "python train.py --lr 1e-4");
    expect_different("python train.py --lr 1e-3", "python train.py --lr=1e-3 --wd 0");
    expect_different("python train.py a b", "python train.py ab");
    expect_different("python -m pkg.train", "python -m pkg.eval");
    expect_different("python train.py --port --fast", "python train.py --port --slow");
    expect_different("python train.py --port --lr 1", "python train.py --port --lr 2");
}

static void the_interpreter_does_not_matter(void **state) {
    (void)state;
    expect_same("python train.py --lr 1", "/opt/venv/bin/python3.11 -u -X dev ./train.py --lr 1");
    expect_same("python -m pkg.train x", "python3 -O -mpkg.train x");
    expect_same("./train.py --lr 1", "python3 ./train.py --lr 1");
    expect_same("lm_eval --tasks a", "/opt/venv/bin/python /opt/venv/bin/lm_eval --tasks a");
}

static void launchers_are_not_the_job(void **state) {
    (void)state;
    expect_same("torchrun --nproc_per_node 4 --master_port 29500 train.py --lr 1",
                "python -u train.py --lr 1");
    expect_same("/v/bin/python /v/bin/torchrun --nnodes 2 train.py --lr 1",
                "python train.py --lr 1");
    expect_same("python -m torch.distributed.run --nnodes 2 -m pkg.train x",
                "python -m pkg.train x");
    expect_same("accelerate launch --config_file c.yaml train.py --lr 1", "python train.py --lr 1");
    expect_same("env A=1 nice -n 5 python train.py --lr 1", "python train.py --lr 1");
    expect_same("mpirun -n 4 python3 -m pkg.train", "python -m pkg.train");
    expect_same("uv run train.py --lr 1", "python train.py --lr 1");
    expect_different("torchrun train.py --lr 1", "torchrun train.py --lr 2");
}

static void stems_can_be_read(void **state) {
    (void)state;
    expect_stem("python train.py", "train");
    expect_stem("python /a/b/train_llm.v2.py", "train_llm.v2");
    expect_stem("python -m pkg.train", "pkg.train");
    expect_stem("python -c print(1)", "python-c");
    expect_stem("python", "python");
    expect_stem("python -", "python");
    expect_stem("python -u", "python");
    expect_stem("python -m", "python");
    expect_stem("./my_server --x", "my_server");
    expect_stem("torchrun --nproc 4", "torchrun");
    expect_stem("python /tmp/tmpab12cd34/tmpx_1y2z3w.py", "tmp");
    expect_stem("../..", "job");
    expect_stem("/opt/h\xc3\xa4uschen", "h--uschen");
    expect_stem("-", "job");
}

static void children_of_multiprocessing_are_one_job(void **state) {
    (void)state;
    const char *one[] = {"/usr/bin/python3", "-c",
                         "from multiprocessing.spawn import spawn_main; spawn_main(fd=5)",
                         "--multiprocessing-fork"};
    const char *two[] = {"/usr/bin/python3", "-c",
                         "from multiprocessing.spawn import spawn_main; spawn_main(fd=11)",
                         "--multiprocessing-fork"};
    rk_autofree char *left = NULL;
    rk_autofree char *right = NULL;
    assert_null(rk_job_derive(4, one, &left));
    assert_null(rk_job_derive(4, two, &right));
    assert_string_equal(left, right);
    assert_memory_equal(left, "python-multiprocessing-", strlen("python-multiprocessing-"));
}

static void code_on_the_command_line_counts(void **state) {
    (void)state;
    expect_different("python -c train(1)", "python -c train(2)");
    expect_same("python -c train(1)", "python3 -uc train(1)");
}

static void secrets_are_not_in_the_digest(void **state) {
    (void)state;
    expect_same("python train.py --password one --lr 1", "python train.py --password two --lr 1");
    expect_same("python train.py --api-key=one --lr 1", "python train.py --api-key=two --lr 1");
    expect_same("./serve gs://u:one@host/x", "./serve gs://u:two@host/x");
    expect_same("env A=1 mysql -pone -h db", "env A=1 mysql -ptwo -h db");
    expect_same("python -c login(password='one')", "python -c login(password='two')");
    expect_same("torchrun --nproc 4 train.py --token one", "python train.py --token two");
    expect_different("python train.py --password one --lr 1",
                     "python train.py --password one --lr 2");
    expect_different("python train.py -pone", "python train.py -ptwo"); // not a known client
}

// Manifests of earlier versions are found by these names.
static void names_without_secrets_are_as_ever(void **state) {
    (void)state;
    static const char *const known[][2] = {
        {"python train.py", "train-c4c6fb615f49"},
        {"python train.py --lr 1e-3 --steps 100 --config configs/llm.yaml", "train-a40dfdf35cae"},
        {"python -m pkg.train --max_tokens 2048 --tokenizer gpt2 x=1", "pkg.train-561dc7db335e"},
        {"torchrun --nproc-per-node 4 --master_port 29500 train.py --lr 1 --run-id=alpha",
         "train-8b313d0ba657"},
        {"python -c print(1)", "python-c-e37f9f14c3a5"},
        {"accelerate launch --config_file c.yaml train.py --pattern *.txt --seed 7",
         "train-748b7421ce8a"},
        {"lm_eval --tasks a,b --model hf --batch_size auto:4 -u user", "lm_eval-141d5f70b028"},
        {"my_server https://example.org:8476/a?b=c --port 41231 --date 2026-11-21 -p 80",
         "my_server-ca46abd866aa"},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(known); i++) {
        rk_autofree char *job = job_of(known[i][0]);
        assert_string_equal(job, known[i][1]);
    }
}

static void names_are_bounded_and_safe(void **state) {
    (void)state;
    char line[400];
    memset(line, 'n', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    rk_autofree char *job = job_of(line);
    assert_int_equal(strlen(job), 80);
    rk_autofree char *odd = job_of("/a/we;ird$(name)&");
    assert_int_equal(strspn(odd, "abcdefghijklmnopqrstuvwxyz0123456789-_."), strlen(odd));
    rk_autofree char *nothing = NULL;
    assert_null(rk_job_derive(0, NULL, &nothing));
    assert_memory_equal(nothing, "job-", 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restart_is_the_same_job),
        cmocka_unit_test(another_script_or_parameter_is_another_job),
        cmocka_unit_test(the_interpreter_does_not_matter),
        cmocka_unit_test(launchers_are_not_the_job),
        cmocka_unit_test(stems_can_be_read),
        cmocka_unit_test(children_of_multiprocessing_are_one_job),
        cmocka_unit_test(code_on_the_command_line_counts),
        cmocka_unit_test(secrets_are_not_in_the_digest),
        cmocka_unit_test(names_without_secrets_are_as_ever),
        cmocka_unit_test(names_are_bounded_and_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
