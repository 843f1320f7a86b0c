// Measures the floor of a restart: the bare plugin loads every executable of a store, one after the
// other, with nothing else in the process. Does not count reading, checking and decompressing.
//
//     bench_load_cost PLUGIN STORE
//
// Prints {"count", "bytes", "seconds"} as JSON: the seconds inside
// PJRT_Executable_DeserializeAndLoad.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <pjrt_c_api.h>

#include "base/sys.h"
#include "store/store.h"

typedef struct floor_bench {
    const PJRT_Api *api;
    PJRT_Client *client;
    rk_store *store;
    uint64_t count, bytes, load_ns;
} floor_bench;

static void need(bool good, const char *what) {
    if (good)
        return;
    (void)fprintf(stderr, "bench_load_cost: %s failed\n", what);
    exit(1);
}

static void need_ok(rk_err *err) {
    if (!err)
        return;
    (void)fprintf(stderr, "bench_load_cost: %s\n", rk_err_message(err));
    exit(1);
}

static rk_err *load(void *context, const rk_store_item *item) {
    floor_bench *bench = context;
    RK_AUTO(rk_store_lookup) lookup = {0};
    RK_TRY(rk_store_read(bench->store, RK_ENTRY_EXECUTABLE, item->hex, RK_WANT_PAYLOAD, &lookup));
    need(lookup.found, "reading an entry");
    rk_span payload = lookup.view.entry.payload;
    PJRT_Executable_DeserializeAndLoad_Args args = {
        .struct_size = PJRT_Executable_DeserializeAndLoad_Args_STRUCT_SIZE,
        .client = bench->client,
        .serialized_executable = (const char *)payload.data,
        .serialized_executable_size = payload.len,
    };
    uint64_t start_ns = rk_monotonic_ns();
    PJRT_Error *error = bench->api->PJRT_Executable_DeserializeAndLoad(&args);
    bench->load_ns += rk_monotonic_ns() - start_ns;
    need(!error, "PJRT_Executable_DeserializeAndLoad");
    bench->count++;
    bench->bytes += payload.len;
    return NULL;
}

static void open_plugin(floor_bench *bench, const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    need(library != NULL, "dlopen");
    const PJRT_Api *(*get)(void);
    *(void **)&get = dlsym(library, "GetPjrtApi");
    need(get != NULL, "dlsym");
    bench->api = get();
    PJRT_Plugin_Initialize_Args initialize = {.struct_size =
                                                  PJRT_Plugin_Initialize_Args_STRUCT_SIZE};
    need(!bench->api->PJRT_Plugin_Initialize(&initialize), "PJRT_Plugin_Initialize");
    PJRT_Client_Create_Args create = {.struct_size = PJRT_Client_Create_Args_STRUCT_SIZE};
    need(!bench->api->PJRT_Client_Create(&create), "PJRT_Client_Create");
    bench->client = create.client;
}

int main(int argc, char **argv) {
    floor_bench bench = {0};
    need(argc == 3, "usage: bench_load_cost PLUGIN STORE:");
    open_plugin(&bench, argv[1]);
    need_ok(rk_store_open(argv[2], true, &bench.store));
    need_ok(rk_store_each(bench.store, RK_ENTRY_EXECUTABLE, load, &bench));
    (void)printf("{\"count\": %llu, \"bytes\": %llu, \"seconds\": %.6f}\n",
                 (unsigned long long)bench.count, (unsigned long long)bench.bytes,
                 (double)bench.load_ns / 1e9);
    rk_store_free(bench.store);
    return 0;
}
