// A substitute for a job under rekindle. Writes records like those of the in-process library into
// the store and the journal that its environment names. Usage: cli_fixture
// cold|warm|refused|failed|troubles|shapes|parameters|idle|killed|left [STATUS]
//
// With FIXTURE_ENVIRONMENT, a list as identity/components.h writes it, `cold` and `warm` belong to
// that environment, and `cold` writes a manifest. FIXTURE_TOOLCHAIN has versions of the framework.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sys.h"
#include "journal/journal.h"
#include "store/manifest.h"

#define NS_PER_MS UINT64_C(1000000)

static const char *const names[] = {"jit_init", "jit_train_step", "jit_eval"};

static const char components[] =
    "{\"options\":[{\"kind\":\"option\",\"name\":\"executable_build_options.num_replicas\","
    "\"value\":\"1\"},{\"kind\":\"option\",\"name\":\"long\",\"value\":{\"digest\":"
    "\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\",\"bytes\":4096}}],"
    "\"environment\":[{\"kind\":\"flag\",\"name\":\"--xla_foo\",\"value\":\"true\"},"
    "{\"kind\":\"variable\",\"name\":\"TF_X\",\"value\":\"a\\u001b[31mb\"},"
    "{\"kind\":\"topology\",\"name\":\"devices\",\"value\":\"4\"}]}";

static void check(rk_err *err) {
    if (!err)
        return;
    (void)fprintf(stderr, "cli_fixture: %s\n", rk_err_message(err));
    exit(99);
}

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

static rk_key key_of(const char *name) {
    rk_key key = {0};
    rk_digest_of(rk_span_text(name), &key.program);
    rk_digest_of(rk_span_text("options"), &key.options);
    const char *environment = variable("FIXTURE_ENVIRONMENT");
    rk_digest_of(rk_span_text(*environment ? environment : "environment"), &key.environment);
    rk_key_finish(&key, variable("REKINDLE_NAMESPACE"));
    return key;
}

static rk_span write_metadata(const char *name, rk_buf *out) {
    rk_buf_add_format(out,
                      "{\"name\":\"%s\",\"format\":\"mlir\",\"platform\":\"cpu\",\"devices\":4,"
                      "\"namespace\":\"%s\"",
                      name, variable("REKINDLE_NAMESPACE"));
    if (*variable("FIXTURE_ENVIRONMENT"))
        rk_buf_add_format(out, ",\"rekindle\":\"%s\",\"run\":\"%s\"", REKINDLE_VERSION,
                          variable("REKINDLE_RUN"));
    if (*variable("FIXTURE_TOOLCHAIN"))
        rk_buf_add_format(out, ",\"toolchain\":%s", variable("FIXTURE_TOOLCHAIN"));
    rk_buf_add_text(out, "}");
    check(rk_buf_status(out));
    return rk_buf_span(out);
}

static rk_span write_components(rk_buf *out) {
    const char *environment = variable("FIXTURE_ENVIRONMENT");
    if (!*environment)
        return rk_span_text(components);
    rk_buf_add_format(out, "{\"options\":[],\"environment\":%s}", environment);
    check(rk_buf_status(out));
    return rk_buf_span(out);
}

static void put(rk_store *store, const char *name, uint64_t compile_ns) {
    RK_AUTO(rk_buf) metadata = {0};
    RK_AUTO(rk_buf) its_components = {0};
    rk_entry entry = {
        .kind = RK_ENTRY_EXECUTABLE,
        .key = key_of(name),
        .created_ns = rk_realtime_ns(),
        .compile_ns = compile_ns,
        .components = write_components(&its_components),
        .metadata = write_metadata(name, &metadata),
        .payload = rk_span_text("an executable, as the plugin serialized it"),
    };
    check(rk_store_put(store, &entry, NULL));
    entry.kind = RK_ENTRY_PROGRAM;
    static const uint8_t program[] = {'M', 'L', 0xef, 'R', 0, 1, 2, 3};
    entry.payload = rk_span_of(program, sizeof program);
    entry.options = rk_span_text("options");
    check(rk_store_put(store, &entry, NULL));
}

static void compile(rk_journal *journal, uint64_t seq, const char *name, rk_outcome outcome,
                    const char *reason) {
    rk_key key = key_of(name);
    bool hit = outcome == RK_OUTCOME_HIT;
    uint64_t took = seq * 700 * NS_PER_MS;
    rk_journal_compile event = {
        .seq = seq,
        .client = 1,
        .outcome = outcome,
        .reason = reason,
        .name = name,
        .key = &key,
        .compiled = !hit,
        .request_ns = took,
        .compile_ns = hit ? 0 : took,
        .load_ns = hit ? 2 * NS_PER_MS : 0,
        .saved_ns = hit ? took : 0,
        .program_bytes = 8,
    };
    rk_journal_add_compile(journal, &event);
}

static void add_client(rk_journal *journal) {
    rk_key key = key_of("");
    const char *environment = variable("FIXTURE_ENVIRONMENT");
    rk_journal_client client = {
        .client = 1,
        .environment = *environment ? &key.environment : NULL,
        .components_json = rk_span_text(environment),
        .plugin = "/opt/plugin.so",
        .build_id = "abcd",
        .platform_name = rk_span_text("cpu"),
        .platform_version = rk_span_text("1"),
        .api_minor = 81,
        .device_count = 4,
        .addressable_device_count = 4,
    };
    rk_journal_add_client(journal, &client);
}

// The list that the next run of the job prefetches.
static void list(rk_store *store) {
    RK_AUTO(rk_manifest) seen = {0};
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++) {
        rk_manifest_use use = {
            .key = key_of(names[i]), .wanted_ns = i * NS_PER_MS, .load_ns = 1, .bytes = 42};
        check(rk_manifest_note(&seen, &use, rk_span_text("options")));
    }
    check(rk_manifest_update(store, variable("REKINDLE_JOB"), 0, variable("REKINDLE_RUN"), &seen));
}

static void cold(rk_journal *journal, rk_store *store) {
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++) {
        rk_key key = key_of(names[i]);
        compile(journal, i + 1, names[i], RK_OUTCOME_MISS, "absent");
        put(store, names[i], (i + 1) * 700 * NS_PER_MS);
        rk_journal_add_stored(journal,
                              &(rk_journal_stored){.key = &key, .stored = true, .raw_bytes = 42});
    }
    if (*variable("FIXTURE_ENVIRONMENT"))
        list(store);
}

// A process that ends by _exit: one of three programs is stored in time.
static void left(rk_journal *journal) {
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++) {
        rk_key key = key_of(names[i]);
        rk_journal_add_compile(journal, &(rk_journal_compile){.seq = i + 1,
                                                              .client = 1,
                                                              .outcome = RK_OUTCOME_MISS,
                                                              .reason = "absent",
                                                              .name = names[i],
                                                              .key = &key,
                                                              .compiled = true,
                                                              .storing = true,
                                                              .compile_ns = 700 * NS_PER_MS});
        if (i == 0)
            rk_journal_add_stored(journal, &(rk_journal_stored){.key = &key, .stored = true});
    }
}

static void warm(rk_journal *journal) {
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++)
        compile(journal, i + 1, names[i], RK_OUTCOME_HIT, NULL);
}

// A job that requests uncompilable programs, with a client and by AOT compilation, and continues.
static void refused(rk_journal *journal) {
    for (uint64_t i = 0; i < 2; i++) {
        rk_key key = key_of("jit_too_large");
        rk_journal_add_compile(journal, &(rk_journal_compile){.seq = 10 + i,
                                                              .client = 1,
                                                              .outcome = RK_OUTCOME_MISS,
                                                              .reason = "absent",
                                                              .name = "",
                                                              .key = &key,
                                                              .compiled = true,
                                                              .failed = true,
                                                              .ahead_of_time = i == 1});
    }
}

// A program that the compiler refuses: the store gets the program alone.
static void failed(rk_journal *journal, rk_store *store) {
    static const uint8_t program[] = {'M', 'L', 0xef, 'R', 0, 1, 2, 3};
    const rk_entry entry = {
        .kind = RK_ENTRY_PROGRAM,
        .key = key_of("jit_too_large"),
        .created_ns = rk_realtime_ns(),
        .compile_ns = 300 * NS_PER_MS,
        .components = rk_span_text(components),
        .metadata = rk_span_text("{\"name\":\"\",\"format\":\"mlir\",\"failed\":true,\"error\":"
                                 "\"Mosaic failed\\nwith a dump\",\"platform\":\"cpu\",\"sketch\":"
                                 "{\"module\":\"jit_too_large\"}}"),
        .payload = rk_span_of(program, sizeof program),
    };
    check(rk_store_put(store, &entry, NULL));
    rk_journal_add_compile(journal, &(rk_journal_compile){.seq = 1,
                                                          .client = 1,
                                                          .outcome = RK_OUTCOME_BYPASS,
                                                          .reason = "host_callback",
                                                          .name = "jit_too_large",
                                                          .key = &entry.key,
                                                          .compiled = true,
                                                          .failed = true,
                                                          .compile_ns = entry.compile_ns});
}

static void troubles(rk_journal *journal) {
    compile(journal, 1, "jit_callback", RK_OUTCOME_BYPASS, "host_callback");
    compile(journal, 2, "jit_callback", RK_OUTCOME_BYPASS, "host_callback");
    compile(journal, 3, "jit_\x1b[2Jodd", RK_OUTCOME_MISS, "absent");
    rk_key key = key_of("jit_odd");
    rk_journal_add_stored(
        journal, &(rk_journal_stored){.key = &key, .stored = false, .reason = "write_failed"});
    rk_journal_add_warning(journal, "the store is full");
}

// An HloModuleProto: ENTRY entry { p = s32[size] parameter(0) }; size 0: s32[]. All its parts are
// short.
static size_t module_of(uint8_t size, uint8_t *out) {
    const uint8_t shape[] = {0x10, 4 /* s32 */, 0x1a, 1, size};
    const uint8_t shape_len = size ? sizeof shape : 2;
    const uint8_t name[] = {0x0a, 1,   'p', 0x12, 9,   'p', 'a',  'r',
                            'a',  'm', 'e', 't',  'e', 'r', 0x1a, shape_len};
    const uint8_t id[] = {0x98, 0x02, 1};
    const uint8_t parameter_len = (uint8_t)(sizeof name + shape_len + sizeof id);
    const uint8_t before[] = {0x0a, 5, 'e', 'n', 't', 'r', 'y', 0x12, parameter_len};
    const uint8_t after[] = {0x28, 7 /* id */, 0x30, 1 /* root */};
    const uint8_t head[] = {0x0a, 4,
                            's',  't',
                            'e',  'p',
                            0x30, 7, // id of the entry computation
                            0x1a, (uint8_t)(sizeof before + parameter_len + sizeof after)};
    size_t len = 0;
#define ADD(part, bytes) (memcpy(out + len, part, bytes), len += bytes)
    ADD(head, sizeof head);
    ADD(before, sizeof before);
    ADD(name, sizeof name);
    ADD(shape, shape_len);
    ADD(id, sizeof id);
    ADD(after, sizeof after);
#undef ADD
    return len;
}

// One program per size, as in a job without padding, or as for the parameters of a model, of which
// the last one is a single number.
static void shapes(rk_journal *journal, rk_store *store, bool of_parameters) {
    static const uint8_t sizes[] = {5, 9, 60, 64, 64, 100, 0};
    for (size_t i = 0; i < RK_ARRAY_LEN(sizes) - !of_parameters; i++) {
        uint8_t module[128];
        char name[16];
        (void)snprintf(name, sizeof name, "size %d", sizes[i]);
        rk_entry entry = {
            .kind = RK_ENTRY_PROGRAM,
            .key = key_of(name),
            .created_ns = rk_realtime_ns(),
            .compile_ns = 1,
            .components = rk_span_text(components),
            .metadata = rk_span_text("{\"format\":\"hlo\"}"),
            .payload = rk_span_of(module, module_of(sizes[i], module)),
        };
        check(rk_store_put(store, &entry, NULL));
        rk_journal_compile event = {.seq = i + 1,
                                    .client = 1,
                                    .outcome = RK_OUTCOME_MISS,
                                    .reason = "absent",
                                    .name = i % 2 ? "Graph.7" : "Graph.12",
                                    .key = &entry.key,
                                    .compiled = true,
                                    .request_ns = 1000 * NS_PER_MS,
                                    .compile_ns = 1000 * NS_PER_MS};
        rk_journal_add_compile(journal, &event);
    }
}

int main(int argc, char **argv) {
    const char *what = argc >= 2 ? argv[1] : "";
    if (strcmp(what, "idle") == 0)
        return 0;
    rk_journal_start start = {
        .store_directory = variable("REKINDLE_DIR"),
        .run = variable("REKINDLE_RUN"),
        .job = variable("REKINDLE_JOB"),
        .mode = "readwrite",
        .version = REKINDLE_VERSION,
        .way_in = "preload",
    };
    rk_store *store = NULL;
    rk_journal *journal = NULL;
    check(rk_store_open(start.store_directory, false, &store));
    check(rk_store_set_limit(store, UINT64_C(1) << 30));
    check(rk_store_load_keys(store, variable("REKINDLE_SIGNING_KEY"), ""));
    check(rk_journal_open(&start, &journal));
    add_client(journal);
    if (strcmp(what, "cold") == 0 || strcmp(what, "killed") == 0)
        cold(journal, store);
    else if (strcmp(what, "warm") == 0)
        warm(journal);
    else if (strcmp(what, "left") == 0)
        left(journal);
    else if (strcmp(what, "refused") == 0)
        refused(journal);
    else if (strcmp(what, "failed") == 0)
        failed(journal, store);
    else if (strcmp(what, "troubles") == 0)
        troubles(journal);
    else if (strcmp(what, "shapes") == 0 || strcmp(what, "parameters") == 0)
        shapes(journal, store, *what == 'p');
    else
        return 98;
    if (strcmp(what, "killed") == 0)
        (void)raise(SIGKILL);
    if (strcmp(what, "left") == 0)
        _exit(argc == 3 ? atoi(argv[2]) : 0);
    rk_journal_add_counts(journal, &(rk_journal_counts){.executions = 1234567,
                                                        .host_to_device = 12,
                                                        .host_to_device_bytes = 3400000,
                                                        .device_to_host = 1,
                                                        .device_to_host_bytes = 4});
    rk_journal_add_end(journal);
    rk_journal_close(journal);
    rk_store_free(store);
    return 0;
}
