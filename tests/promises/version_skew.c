// Entries of all past formats and of possible future ones. Known formats are read correctly to the
// byte. An unknown format is a miss with a reason, and the entry stays.
#include "promise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache/cache.h"

enum { KEY = 1, BYTES = 4000, VERSION_OFFSET = 8 };

static unsigned golden_read, golden_all;

static void check_golden(const char *name) {
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", RK_PROMISE_GOLDEN_DIR, name);
    size_t len = 0;
    uint8_t *data = promise_read_file(path, &len);
    RK_AUTO(rk_entry_view) view = {0};
    rk_entry_fault fault = RK_ENTRY_DAMAGED;
    promise_ok(rk_entry_decode(rk_span_of(data, len), NULL, RK_WANT_PAYLOAD, &view, &fault),
               "decode");
    golden_all++;
    golden_read += fault == RK_ENTRY_OK && view.entry.payload.len > 0;
    rk_entry_view_cleanup(&view);
    free(data);
}

static unsigned loads;

static rk_err *load(void *context, const rk_entry *entry, void **out_handle) {
    (void)entry;
    loads++;
    *out_handle = context;
    return NULL;
}

// Writes an entry of a later format: only the magic and the version field keep their meaning.
static void write_version(const char *path, const uint8_t *sound, size_t len, uint32_t version) {
    uint8_t *data = malloc(len);
    promise_need(data != NULL, "malloc");
    memcpy(data, sound, len);
    for (int i = 0; i < 4; i++)
        data[VERSION_OFFSET + i] = (uint8_t)(version >> 8 * i);
    for (size_t i = VERSION_OFFSET + 4; i < len; i += 3)
        data[i] = (uint8_t)~data[i];
    promise_write_file(path, data, len);
    free(data);
}

static void future_formats(void) {
    static const uint32_t versions[] = {0, 2, 3, 255, 256, 65537, UINT32_MAX};
    const char *directory = promise_directory("skew", false);
    char path[4096];
    rk_store *store = NULL;
    rk_key name = promise_key(KEY);
    rk_entry entry = promise_entry(KEY, 0, BYTES);
    promise_path(directory, &name, path);
    promise_ok(rk_store_open(directory, false, &store), "open");
    promise_ok(rk_store_put(store, &entry, NULL), "put");
    size_t len = 0;
    uint8_t *sound = promise_read_file(path, &len);
    unsigned reasons = 0, stayed = 0, replaced = 0;
    for (size_t i = 0; i < RK_ARRAY_LEN(versions); i++) {
        write_version(path, sound, len, versions[i]);
        int handle = 0;
        const rk_loader loader = {&handle, load, NULL};
        rk_answer answer;
        rk_cache_lookup(store, &name, &loader, &answer);
        reasons += strcmp(rk_miss_name(answer.miss), "unknown_version") == 0;
        stayed += !answer.quarantined && access(path, F_OK) == 0;
        rk_answer_cleanup(&answer);
        promise_ok(rk_store_put(store, &entry, NULL), "put");
        promise_reads reads = {0};
        promise_read(store, KEY, 1, BYTES, &reads);
        replaced += reads.hits == 1 && reads.wrong == 0;
    }
    const unsigned all = RK_ARRAY_LEN(versions);
    promise_report(
        "version skew, other formats", "0 wrong hits, the reason given",
        loads == 0 && reasons == all && stayed == all && replaced == all,
        "%u hits in %u formats, %u with their reason, %u left in place, %u replaced by a put",
        loads, all, reasons, stayed, replaced);
    free(sound);
    rk_store_free(store);
}

int main(int argc, char **argv) {
    promise_begin(argc, argv);
    static const char *const golden[] = {"entry-v1.rkx", "program-v1.rkp", "entry-v1-signed.rkx",
                                         "program-v1-signed.rkp"};
    for (size_t i = 0; i < RK_ARRAY_LEN(golden); i++)
        check_golden(golden[i]);
    promise_report("version skew, golden entries", "all read", golden_read == golden_all,
                   "%u of %u read", golden_read, golden_all);
    future_formats();
    return promise_end();
}
