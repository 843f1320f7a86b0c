#include "pjrt/prefetch_internal.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/heap_reserve.h"
#include "base/sys.h"
#include "base/thread.h"
#include "identity/options.h"
#include "pjrt/changes_internal.h"
#include "pjrt/error.h"
#include "pjrt/executable.h"
#include "pjrt/load.h"
#include "pjrt/memory_figures.h"
#include "pjrt/optimized.h"
#include "pjrt/publish_internal.h"
#include "pjrt/record_internal.h"
#include "pjrt/subset.h"
#include "store/manifest.h"

// The limits of prefetched executables that no request has claimed.
#define HELD_MAX_BYTES ((uint64_t)4 << 30) // serialized; at most memory / HELD_PART_OF_MEMORY
enum { HELD_PART_OF_MEMORY = 8, HELD_MAX = 1024, THREADS_MAX = 4 };
enum { CPU_HEAP_BYTES_A_BYTE = 48 }; // measured on CPU; other platforms' executables differ
#define QUICK_NS  ((uint64_t)50000000)
#define EARLY_NS  ((uint64_t)120 * 1000000000)
#define KEEP_NS   ((uint64_t)300 * 1000000000)
#define RELIEF_NS ((uint64_t)60 * 1000000000) // how long a caller short of memory waits for loads

atomic_uint_fast64_t rk_prefetch_destroyed;

// Compile options that several items share.
typedef struct shared_options {
    atomic_size_t references;
    rk_buf bytes;
} shared_options;

// One prefetched executable.
typedef struct item {
    rk_plugin *plugin;
    PJRT_Client *client;
    rk_store *store; // borrowed
    rk_loads *loads; // borrowed; NULL: loads are not recorded
    rk_key key;
    shared_options *options;  // one reference
    size_t heap_bytes_a_byte; // heap that the plugin allocates during a load, per byte of the
                              // executable
    uint64_t bytes;           // of the executable, known after it was read
    uint64_t created_ns;      // of the entry
    rk_digest made_of; // digest of the program bytes that the entry was compiled from; zeroes if
                       // not known
} item;

static void drop_options(shared_options *options) {
    if (options && atomic_fetch_sub(&options->references, 1) == 1) {
        rk_buf_cleanup(&options->bytes);
        rk_free(options);
    }
}

static void release(void *context) {
    item *self = context;
    drop_options(self->options);
    rk_free(self);
}

static void destroy(void *context, void *handle) {
    const item *self = context;
    const PJRT_Api *api = self->plugin->real;
    PJRT_LoadedExecutable_Destroy_Args args = {
        .struct_size = PJRT_LoadedExecutable_Destroy_Args_STRUCT_SIZE, .executable = handle};
    rk_optimized_forget(handle);
    rk_pjrt_error_drop(api, api->PJRT_LoadedExecutable_Destroy(&args));
    (void)atomic_fetch_add(&rk_prefetch_destroyed, 1);
}

// Callbacks of the cache.

// Turns the plugin's error into RK_UNAVAILABLE, unless it is RK_RESOURCE_EXHAUSTED or
// RK_UNIMPLEMENTED. A failed prefetch says nothing about the entry or the plugin: perhaps the
// framework has not registered its custom calls yet. The request loads the entry again, and that
// result counts.
static rk_err *excuse(rk_err *err) {
    rk_code code = rk_err_code(err);
    if (!err || code == RK_RESOURCE_EXHAUSTED || code == RK_UNIMPLEMENTED)
        return err;
    rk_err *excused = rk_error(RK_UNAVAILABLE, "%s", rk_err_message(err));
    rk_err_drop(err, "as another one");
    return excused;
}

static void read_figures(const item *self, rk_memory_figures *out_figures) {
    rk_err_drop(rk_memory_figures_read(self->plugin, self->client, out_figures),
                "without memory figures, the plugin refuses loads that do not fit");
}

// Learns from the figures before a load whether they count executables. If no figure changes during
// the load, they do not: the executable has no part in them. A change proves nothing, because the
// framework may have allocated at the same time.
static void learn_from_figures(const item *self, const rk_memory_figures *before) {
    RK_AUTO(rk_memory_figures) after = {0};
    if (before->count == 0 || atomic_load(&self->plugin->executables_uncounted))
        return;
    read_figures(self, &after);
    if (rk_memory_figures_equal(before, &after))
        atomic_store(&self->plugin->executables_uncounted, true);
}

static rk_err *load(void *context, const rk_entry *entry, void **out_handle) {
    item *self = context;
    rk_span executable = entry->payload;
    self->bytes = executable.len;
    RK_AUTO(rk_memory_figures) figures = {0};
    read_figures(self, &figures);
    if (!rk_memory_figures_fit(&figures, executable.len))
        return rk_error(RK_RESOURCE_EXHAUSTED, "a device is nearly full");
    PJRT_LoadedExecutable *loaded = NULL;
    rk_heap_reservation reservation;
    rk_heap_reserve(executable.len * self->heap_bytes_a_byte, &reservation);
    int slot = rk_loads_begin(self->loads, &self->key.digest, entry->created_ns, RK_LOAD_LOADING);
    rk_err *err = rk_load_prefetch(self->plugin, self->client, executable,
                                   rk_buf_span(&self->options->bytes), &loaded);
    rk_loads_end(self->loads, slot);
    rk_heap_release(&reservation);
    RK_TRY(excuse(err));
    learn_from_figures(self, &figures);
    if (!rk_optimized_read(loaded, entry->options, true))
        rk_optimized_prefetch(self->plugin, loaded);
    *out_handle = loaded;
    return NULL;
}

static bool note(void *context, const rk_entry *entry) {
    item *self = context;
    self->created_ns = entry->created_ns;
    if (!rk_publish_made_of(entry->metadata, &self->made_of))
        self->made_of = (rk_digest){0};
    return true;
}

static void load_item(void *context, rk_answer *out_answer, uint64_t *out_bytes) {
    item *self = context;
    rk_loader loader = {self, load, note};
    rk_cache_lookup(self->store, &self->key, &loader, out_answer);
    *out_bytes = self->bytes;
    // The load may have registered destructors in the plugin. They must not run while a rekindle
    // thread is inside it.
    rk_runtime_renew_exit_handler();
}

static const char *why_stopped(const rk_prefetcher_total *total) {
    if (total->relieved)
        return "memory";
    if (total->measured)
        return "measured";
    return total->departed ? "departed" : NULL;
}

static void settled(const rk_prefetcher_total *total) {
    const rk_runtime *runtime = rk_runtime_get();
    if (!runtime)
        return;
    rk_journal_add_prefetch(runtime->journal, &(rk_journal_prefetch){
                                                  .client = total->number,
                                                  .listed = total->listed,
                                                  .loaded = total->loaded,
                                                  .claimed = total->claimed,
                                                  .waited = total->waited,
                                                  .taken = total->taken,
                                                  .wasted = total->wasted,
                                                  .failed = total->failed,
                                                  .dropped = total->dropped,
                                                  .load_ns = total->load_ns,
                                                  .wasted_load_ns = total->wasted_load_ns,
                                                  .stopped = why_stopped(total),
                                              });
}

// Uses a quarter of the processors, because the framework imports and traces at the same time.
static unsigned count_threads(unsigned processors) {
    unsigned most = processors / 4;
    most = most < THREADS_MAX ? most : THREADS_MAX;
    return most > 2 ? most : 2;
}

// Returns the number of processors that this process may use.
static unsigned count_processors(void) {
    cpu_set_t set;
    long all = sysconf(_SC_NPROCESSORS_ONLN);
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (unsigned)CPU_COUNT(&set);
    return all > 0 ? (unsigned)all : 1;
}

void rk_prefetch_start(rk_runtime *runtime) {
    rk_mode mode = runtime->settings->mode;
    if (!runtime->store || !runtime->settings->preload || mode == RK_MODE_REFRESH)
        return;
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    uint64_t memory = pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0;
    uint64_t part = memory / HELD_PART_OF_MEMORY;
    unsigned processors = count_processors();
    const rk_prefetcher_options options = {
        .threads = count_threads(processors),
        .gentle = processors <= 2,
        .quick_ns = QUICK_NS,
        .max_bytes = part && part < HELD_MAX_BYTES ? part : HELD_MAX_BYTES,
        .max_held = HELD_MAX,
        .early_ns = EARLY_NS,
        .keep_ns = KEEP_NS,
        .settled = settled,
    };
    const rk_prefetcher_actions actions = {load_item, destroy, release};
    rk_err_drop(rk_prefetcher_new(&options, &actions, &runtime->prefetch),
                "without prefetch, executables are loaded on request");
}

// Building the list of a client.

typedef struct list {
    rk_prefetcher_item *items; // owned
    size_t count;
    rk_manifest_options *of; // the manifest's options; borrowed
    shared_options **shared; // one per options, or NULL; owned, with one reference each
    size_t shared_count;
} list;

static void list_cleanup(list *self) {
    for (size_t i = 0; i < self->shared_count; i++)
        drop_options(self->shared[i]);
    rk_free(self->shared);
    rk_free(self->items);
}

static shared_options *share(list *self, const rk_digest *digest) {
    for (size_t i = 0; i < self->shared_count; i++)
        if (self->shared[i] && rk_digest_equal(&self->of[i].digest, digest)) {
            atomic_fetch_add(&self->shared[i]->references, 1);
            return self->shared[i];
        }
    return NULL;
}

// Checks that the manifest's options have the digest that is recorded with them, because an
// executable must be loaded with the options in its key. Also checks that they name devices onto
// which a request would load.
static rk_err *check_options(const rk_runtime *runtime, const rk_client *client,
                             const rk_manifest_options *options, bool *out_right) {
    RK_AUTO(rk_buf) canonical = {0};
    RK_AUTO(rk_components) fields = {0};
    rk_digest digest;
    RK_TRY(rk_options_canonicalize_without(rk_buf_span(&options->bytes),
                                           runtime->settings->key_ignore, &canonical, &fields));
    rk_digest_of(rk_buf_span(&canonical), &digest);
    *out_right =
        rk_digest_equal(&digest, &options->digest) && !rk_subset_is_unproved(client, &fields);
    return NULL;
}

static rk_err *share_all(const rk_runtime *runtime, const rk_client *client, rk_manifest *manifest,
                         list *self) {
    self->of = manifest->options;
    self->shared = rk_calloc(manifest->options_count + 1, sizeof *self->shared);
    self->items = rk_calloc(manifest->use_count + 1, sizeof *self->items);
    if (!self->shared || !self->items)
        return rk_err_no_memory();
    for (; self->shared_count < manifest->options_count; self->shared_count++) {
        bool right = false;
        RK_TRY(check_options(runtime, client, &manifest->options[self->shared_count], &right));
        if (!right)
            continue;
        shared_options *shared = rk_calloc(1, sizeof *shared);
        if (!shared)
            return rk_err_no_memory();
        atomic_store(&shared->references, 1);
        shared->bytes = manifest->options[self->shared_count].bytes;
        manifest->options[self->shared_count].bytes = (rk_buf){0};
        self->shared[self->shared_count] = shared;
    }
    return NULL;
}

// True if this process would make the same key from its parts. The namespace may be another, and
// the environment may have changed before the client was created.
static bool is_ours(const rk_runtime *runtime, const rk_client *client, int state,
                    const rk_manifest_use *use) {
    rk_key key = use->key;
    key.environment = client->environment;
    rk_changes_mix(client->plugin, state, &key.environment);
    rk_key_finish(&key, runtime->settings->name_space);
    return rk_key_equal(&key, &use->key);
}

static void add_use(const rk_runtime *runtime, rk_plugin *plugin, const rk_client *client,
                    const rk_manifest_use *use, list *self) {
    item *one = rk_calloc(1, sizeof *one);
    shared_options *options = one ? share(self, &use->key.options) : NULL;
    if (!options) {
        rk_free(one);
        return;
    }
    one->plugin = plugin;
    one->client = client->handle;
    one->store = runtime->store;
    one->loads = runtime->loads;
    one->key = use->key;
    one->options = options;
    one->heap_bytes_a_byte = client->is_cpu ? CPU_HEAP_BYTES_A_BYTE : 0;
    self->items[self->count++] = (rk_prefetcher_item){
        .key = use->key,
        .wanted_ns = use->wanted_ns,
        .load_ns = use->load_ns,
        .bytes = use->bytes,
        .context = one,
    };
}

static rk_err *begin(const rk_runtime *runtime, rk_plugin *plugin, const rk_client *client) {
    RK_AUTO(rk_manifest) manifest = {0};
    RK_AUTO(list) all = {0};
    uint32_t ordinal = 0;
    uint64_t now_ns = rk_steady_ns();
    int state = rk_changes_look();
    if (!rk_record_find_client(runtime, client, &ordinal))
        return NULL;
    RK_TRY(rk_manifest_read(runtime->store, runtime->job, rk_journal_rank(), &manifest));
    RK_TRY(share_all(runtime, client, &manifest, &all));
    for (size_t i = 0; i < manifest.use_count; i++) {
        const rk_manifest_use *use = &manifest.uses[i];
        if (use->client != ordinal || !is_ours(runtime, client, state, use) ||
            rk_loads_doubt_key(runtime->loads, &use->key.digest, NULL) != RK_LOAD_TRUSTED)
            continue;
        size_t before = all.count;
        add_use(runtime, plugin, client, use, &all);
        if (all.count == before)
            continue;
        all.items[before].stale = use->run != rk_manifest_latest_run(&manifest);
        all.items[before].wanted_ns += now_ns;
    }
    rk_runtime_renew_exit_handler();
    return rk_prefetcher_add(runtime->prefetch, client->handle, client->number, all.items,
                             all.count);
}

void rk_prefetch_begin(const rk_runtime *runtime, rk_plugin *plugin, const rk_client *client) {
    if (!runtime->prefetch || !client->keyed || !rk_load_is_wanted(plugin))
        return;
    rk_err_drop(begin(runtime, plugin, client),
                "without prefetch, executables are loaded on request");
}

bool rk_prefetch_end(const rk_runtime *runtime, const PJRT_Client *handle) {
    if (!runtime->prefetch)
        return true;
    uint64_t timeout_ns = runtime->settings->drain_ns;
    return handle ? rk_prefetcher_drain(runtime->prefetch, handle, timeout_ns)
                  : rk_prefetcher_close(runtime->prefetch, timeout_ns);
}

void rk_prefetch_discard_key(const rk_runtime *runtime, const rk_key *key) {
    if (runtime->prefetch)
        rk_prefetcher_discard_key(runtime->prefetch, key);
}

// Answering requests.

bool rk_prefetch_take(rk_request *r, rk_answer *out_answer) {
    rk_prefetcher *prefetch = r->runtime->prefetch;
    rk_prefetcher_claim claim;
    if (!prefetch || !rk_prefetcher_take(prefetch, r->args->client, &r->key, &claim))
        return false;
    const item *one = claim.context;
    *out_answer = claim.answer;
    out_answer->load_ns = claim.waited_ns;
    r->outcome.preloaded = out_answer->miss == RK_MISS_NONE;
    r->outcome.preload_ns = claim.load_ns;
    r->executable_bytes = r->outcome.preloaded ? claim.bytes : 0;
    r->created_ns = one->created_ns;
    r->made_of = one->made_of;
    release(claim.context);
    rk_runtime_renew_exit_handler();
    return true;
}

void rk_prefetch_answered(const rk_request *r) {
    rk_prefetcher *prefetch = r->runtime->prefetch;
    const rk_request_outcome *outcome = &r->outcome;
    // Only requests whose executables are stored count; others are in no manifest.
    bool counts = outcome->result == RK_REQUEST_HIT ||
                  (outcome->result == RK_REQUEST_MISS && !outcome->failed &&
                   outcome->compile_ns >= r->runtime->settings->min_compile_ns);
    if (!prefetch || r->kind != RK_REQUEST_CLIENT)
        return;
    if (r->has_key && counts && !outcome->preloaded)
        rk_prefetcher_note_request(prefetch, r->args->client, &r->key);
    if (outcome->result == RK_REQUEST_BYPASS && !rk_load_is_wanted(r->plugin))
        (void)rk_prefetcher_discard(prefetch, r->args->client, RK_PREFETCHER_NOT_NEEDED);
}

static PJRT_Error_Code code_of(const rk_plugin *plugin, const PJRT_Error *error) {
    if (rk_pjrt_error_is_ours(error))
        return rk_pjrt_error_code(error);
    PJRT_Error_GetCode_Args args = {.struct_size = PJRT_Error_GetCode_Args_STRUCT_SIZE,
                                    .error = error};
    PJRT_Error *problem = plugin->real->PJRT_Error_GetCode(&args);
    rk_pjrt_error_drop(plugin->real, problem);
    return problem ? PJRT_Error_Code_UNKNOWN : args.code;
}

static rk_prefetcher *get_prefetcher(void) {
    const rk_runtime *runtime = rk_runtime_get();
    return runtime ? runtime->prefetch : NULL;
}

// Discards all prefetched executables, and waits until they are destroyed. True if any was
// destroyed since the counter was `before`.
static bool discard_all(rk_prefetcher_reason why, uint64_t before) {
    rk_prefetcher *prefetch = get_prefetcher();
    if (!prefetch)
        return false;
    int cancel_state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    (void)rk_prefetcher_discard(prefetch, NULL, why);
    rk_prefetcher_await_discards(prefetch, RELIEF_NS);
    (void)pthread_setcancelstate(cancel_state, NULL);
    return atomic_load(&rk_prefetch_destroyed) != before;
}

bool rk_prefetch_free_memory(uint64_t before) {
    return discard_all(RK_PREFETCHER_MEMORY_SHORT, before);
}

// True if the plugin's memory figures are known not to count executables. If nothing is known yet,
// waits for one load under way: the discard would have to wait for it anyway.
static bool are_uncounted(const rk_plugin *plugin) {
    rk_prefetcher *prefetch = get_prefetcher();
    if (!prefetch || atomic_load(&plugin->executables_uncounted))
        return true;
    int cancel_state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    rk_prefetcher_await_load(prefetch, RELIEF_NS);
    (void)pthread_setcancelstate(cancel_state, NULL);
    return atomic_load(&plugin->executables_uncounted);
}

bool rk_prefetch_clear(const rk_plugin *plugin) {
    return !are_uncounted(plugin) &&
           discard_all(RK_PREFETCHER_MEMORY_MEASURED, atomic_load(&rk_prefetch_destroyed));
}

bool rk_prefetch_free_after_error(const rk_plugin *plugin, const PJRT_Error *error,
                                  uint64_t before) {
    return code_of(plugin, error) == PJRT_Error_Code_RESOURCE_EXHAUSTED &&
           rk_prefetch_free_memory(before);
}

PJRT_Error *rk_prefetch_choose(const rk_plugin *plugin, PJRT_Error *first, PJRT_Error *second) {
    // A failed call may have consumed its inputs, which makes the second call fail for another
    // reason. Then the first error is the right one.
    bool first_counts = second && code_of(plugin, second) != PJRT_Error_Code_RESOURCE_EXHAUSTED;
    rk_pjrt_error_drop(plugin->real, first_counts ? second : first);
    return first_counts ? first : second;
}
