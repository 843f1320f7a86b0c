// rk_job_derive: the name of a job from its command line. The rules are in docs/settings.md.
#include <stdlib.h>

#include "base/alloc.h"
#include "base/digest.h"
#include "base/redact.h"
#include "settings/settings.h"
#include "settings/stable_internal.h"

enum { JOB_MAX_CHARS = 80, DIGEST_CHARS = 12, STEM_MAX_CHARS = JOB_MAX_CHARS - DIGEST_CHARS - 1 };

// The program in a command line: its readable name and its first argument.
typedef struct program {
    const char *name;   // a path, module or word; borrowed
    const char *prefix; // precedes the name in the stem, or ""; static
    int first_argument;
} program;

static const char *base_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static bool ends_with(const char *text, const char *ending) {
    size_t len = strlen(text), ending_len = strlen(ending);
    return len > ending_len && strcmp(text + len - ending_len, ending) == 0;
}

static bool is_in(const char *word, const char *const *list) {
    for (; *list; list++)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

// "python", "python3", "python3.11", "pypy3", "ipython", "python3.13t".
static bool is_python(const char *path) {
    static const char *const names[] = {"ipython", "python", "pypy"};
    const char *base = base_of(path);
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++) {
        size_t len = strlen(names[i]);
        if (strncmp(base, names[i], len) == 0 &&
            strspn(base + len, "0123456789.td") == strlen(base + len))
            return true;
    }
    return false;
}

// True for a program that starts the job and is not the job itself.
static bool is_launcher(const char *path) {
    static const char *const names[] = {
        "torchrun",   "accelerate", "deepspeed", "horovodrun", "mpirun",   "mpiexec",
        "srun",       "env",        "nice",      "ionice",     "numactl",  "taskset",
        "timeout",    "time",       "stdbuf",    "setsid",     "nohup",    "xvfb-run",
        "uv",         "poetry",     "pdm",       "pipenv",     "hatch",    "conda",
        "micromamba", "strace",     "gdb",       "perf",       "rekindle", NULL};
    return is_in(base_of(path), names);
}

static bool is_launcher_module(const char *module) {
    static const char *const names[] = {"torch.distributed.run",
                                        "torch.distributed.launch",
                                        "torch_xla.distributed.xla_dist",
                                        "accelerate.commands.launch",
                                        "deepspeed.launcher.runner",
                                        "deepspeed.launcher.launch",
                                        NULL};
    return is_in(module, names);
}

static program find_program(int argc, const char *const *argv, int at);

// Finds the job after a launcher: the first interpreter, script or module among the arguments. If
// there is none, the launcher is the job.
static program find_launched(int argc, const char *const *argv, int at, const char *launcher) {
    static const char *const module_options[] = {"-m", "--module", NULL};
    for (int i = at; i < argc; i++) {
        if (is_python(argv[i]))
            return find_program(argc, argv, i);
        if (ends_with(argv[i], ".py"))
            return (program){argv[i], "", i + 1};
        if (is_in(argv[i], module_options) && i + 1 < argc && argv[i + 1][0] != '-')
            return (program){argv[i + 1], "", i + 2};
    }
    return (program){launcher, "", at};
}

// Skips the interpreter's options after `python`. Then `*at` is the argument with the script, or
// with the value of -c CODE or -m MODULE. Returns the letter of that -c or -m, else 0.
static char skip_interpreter_options(int argc, const char *const *argv, int *at) {
    for (; *at < argc && argv[*at][0] == '-' && argv[*at][1]; (*at)++) {
        const char *option = argv[*at];
        if (option[1] == '-') {
            *at += strcmp(option, "--check-hash-based-pycs") == 0;
            continue;
        }
        const char *with_value = strpbrk(option + 1, "cmWX");
        if (!with_value)
            continue;
        if (*with_value == 'c' || *with_value == 'm') {
            *at += with_value[1] == '\0';
            return *with_value;
        }
        *at += with_value[1] == '\0';
    }
    return 0;
}

static program find_in_python(int argc, const char *const *argv, int at) {
    char kind = skip_interpreter_options(argc, argv, &at);
    if (at >= argc)
        return (program){"python", "", argc};
    const char *what = argv[at];
    if (kind && what[0] == '-') // "-mpkg.train", "-cprint(1)": the option contains the value
        what = strchr(what, kind) + 1;
    if (kind == 'c') {
        // The code of such a child contains pipe numbers, which change between starts.
        bool child = strncmp(what, "from multiprocessing.", strlen("from multiprocessing.")) == 0;
        return child ? (program){"multiprocessing", "python-", argc}
                     : (program){"c", "python-", at};
    }
    if (kind == 'm' && is_launcher_module(what))
        return find_launched(argc, argv, at + 1, what);
    if (!kind && is_launcher(what)) // a console script: "python /opt/venv/bin/torchrun …"
        return find_launched(argc, argv, at + 1, what);
    return (program){strcmp(what, "-") == 0 ? "python" : what, "", at + 1};
}

static program find_program(int argc, const char *const *argv, int at) {
    if (is_python(argv[at]))
        return find_in_python(argc, argv, at + 1);
    if (is_launcher(argv[at]))
        return find_launched(argc, argv, at + 1, argv[at]);
    return (program){argv[at], "", at + 1};
}

static const char *temporary_directory(void) {
    const char *directory = getenv("TMPDIR");
    return directory ? directory : "";
}

// Hashes the arguments. Volatile options ("--port=41231", "--port" "41231") lose their value, other
// arguments lose their volatile parts. Secrets are removed first: the job's name is public, and a
// guessed secret could be tested against its digest.
static rk_err *hash_arguments(rk_hasher *hasher, int argc, const char *const *argv, int first) {
    const char *temporary = temporary_directory();
    RK_AUTO(rk_buf) stable = {0};
    RK_AUTO(rk_buf) shown = {0};
    rk_redactor redactor = {0};
    bool value_is_volatile = false;
    // The redactor needs the program's name, which decides the meaning of some options (mysql -pX).
    // It does not get the launcher: a launcher and its workers are one job.
    for (int at = first > 0 ? first - 1 : 0; at < argc; at++) {
        rk_buf_clear(&shown);
        rk_redact_argument(&redactor, rk_span_text(argv[at]), &shown);
        RK_TRY(rk_buf_status(&shown));
        if (at < first)
            continue;
        const char *argument = rk_buf_text(&shown);
        size_t dashes = strspn(argument, "-");
        const char *name = argument + dashes;
        size_t name_len = strcspn(name, "=");
        bool has_value = name[name_len] == '=';
        bool is_volatile = rk_stable_is_volatile_option(rk_span_of(name, name_len));
        rk_buf_clear(&stable);
        if (value_is_volatile && dashes == 0)
            rk_buf_add_text(&stable, "<value>");
        else if (has_value && is_volatile)
            rk_buf_add(&stable, argument, dashes + name_len);
        else
            rk_stable_add(&stable, rk_span_text(argument), temporary);
        value_is_volatile = dashes > 0 && !has_value && is_volatile;
        RK_TRY(rk_buf_status(&stable));
        rk_hasher_add_field(hasher, rk_buf_span(&stable));
    }
    return NULL;
}

// Writes the last part of a path, or a module, without volatile parts, in characters that are safe
// in a file name.
static rk_err *write_stem(const program *found, rk_buf *out) {
    const char *base = base_of(found->name);
    size_t len = strlen(base);
    if (ends_with(base, ".py"))
        len -= strlen(".py");
    RK_AUTO(rk_buf) stable = {0};
    rk_stable_add(&stable, rk_span_of(base, len), "");
    RK_TRY(rk_buf_status(&stable));
    rk_buf_add_text(out, found->prefix);
    for (size_t i = 0; i < stable.len && out->len < STEM_MAX_CHARS; i++) {
        uint8_t c = stable.data[i];
        bool letter = (uint8_t)((c | 0x20) - 'a') < 26, digit = (uint8_t)(c - '0') < 10;
        if (letter || digit || ((c == '.' || c == '_' || c == '-') && out->len))
            rk_buf_add_byte(out, c);
        else if (c != '<' && c != '>' && out->len)
            rk_buf_add_byte(out, '-');
    }
    if (out->len == 0)
        rk_buf_add_text(out, "job");
    return rk_buf_status(out);
}

rk_err *rk_job_derive(int argc, const char *const *argv, char **out_job) {
    program found = argc > 0 ? find_program(argc, argv, 0) : (program){"job", "", 0};
    RK_AUTO(rk_buf) job = {0};
    RK_TRY(write_stem(&found, &job));
    rk_hasher hasher;
    rk_hasher_init(&hasher);
    rk_hasher_add_field(&hasher, rk_buf_span(&job));
    RK_TRY(hash_arguments(&hasher, argc, argv, found.first_argument));
    rk_digest digest;
    rk_hasher_finish(&hasher, &digest);
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(&digest, hex);
    rk_buf_add_byte(&job, '-');
    rk_buf_add(&job, hex, DIGEST_CHARS);
    RK_TRY(rk_buf_status(&job));
    size_t len = 0;
    *out_job = (char *)rk_buf_detach(&job, &len);
    return NULL;
}
