#include "pjrt/memory.h"

#include <pthread.h>

#include "base/sys.h"
#include "pjrt/clients.h"
#include "pjrt/error.h"
#include "pjrt/facts.h"
#include "pjrt/memory_figures.h"
#include "pjrt/runtime.h"

// A plugin's schedule: the time of the next sample (0: never), and the interval after it.
typedef struct schedule {
    atomic_uint_fast64_t due_ns, step_ns;
} schedule;

static schedule schedules[RK_PLUGIN_SLOTS];
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;

enum { FIRST_STEP_NS = 1000000000 };

static int64_t figure(int64_t value, bool is_set) {
    return is_set && value >= 0 ? value : RK_MEMORY_UNKNOWN;
}

static rk_err *ask(rk_plugin *plugin, PJRT_Device *device, int64_t *out_figures) {
    PJRT_Device_MemoryStats_Args args;
    RK_TRY(rk_memory_figures_ask(plugin, device, &args));
    out_figures[RK_MEMORY_IN_USE] = figure(args.bytes_in_use, true);
    out_figures[RK_MEMORY_PEAK] = figure(args.peak_bytes_in_use, args.peak_bytes_in_use_is_set);
    out_figures[RK_MEMORY_LIMIT] = figure(args.bytes_limit, args.bytes_limit_is_set);
    out_figures[RK_MEMORY_LARGEST_ALLOCATION] =
        figure(args.largest_alloc_size, args.largest_alloc_size_is_set);
    out_figures[RK_MEMORY_RESERVED] = figure(args.bytes_reserved, args.bytes_reserved_is_set);
    out_figures[RK_MEMORY_LARGEST_FREE_BLOCK] =
        figure(args.largest_free_block_bytes, args.largest_free_block_bytes_is_set);
    return NULL;
}

// Writes a sample of one device. False if the device has no figures, now or later.
static bool record(const rk_runtime *runtime, rk_plugin *plugin, PJRT_Device *device,
                   rk_journal_memory *event) {
    RK_AUTO(rk_buf) attributes = RK_BUF_INIT(RK_FACTS_ATTRIBUTES_MAX_BYTES);
    rk_device_facts facts = {0};
    rk_facts_gather_device(plugin->real, device, &facts, &attributes);
    event->device = facts.id;
    event->name = facts.name;
    event->kind = facts.kind;
    bool first = strcmp(event->when, "start") == 0;
    event->attributes_json = first ? rk_buf_span(&attributes) : (rk_span){0};
    rk_err *err = ask(plugin, device, event->figures);
    event->problem = err ? rk_err_message(err) : NULL;
    rk_journal_add_memory(runtime->journal, event);
    bool has_figures = rk_err_code(err) != RK_UNIMPLEMENTED;
    rk_err_drop(err, "written to the journal");
    return has_figures;
}

// Samples all devices of the client. False if no device has figures, now or later.
static bool sample(const rk_runtime *runtime, rk_plugin *plugin, PJRT_Client *client,
                   uint64_t number, const char *when) {
    PJRT_Client_AddressableDevices_Args ours = {
        .struct_size = PJRT_Client_AddressableDevices_Args_STRUCT_SIZE, .client = client};
    rk_err *err =
        rk_pjrt_error_take(plugin->real, plugin->real->PJRT_Client_AddressableDevices(&ours));
    if (err) {
        rk_err_drop(err, "a client without devices has no memory figures");
        return false;
    }
    bool has_figures = false;
    for (size_t i = 0; i < ours.num_addressable_devices; i++) {
        rk_journal_memory event = {.client = number, .when = when};
        has_figures |= record(runtime, plugin, ours.addressable_devices[i], &event);
    }
    return has_figures;
}

void rk_memory_begin(rk_plugin *plugin, PJRT_Client *client, uint64_t number) {
    const rk_runtime *runtime = rk_runtime_get();
    if (!runtime || runtime->settings->memory_ns == 0)
        return;
    if (!sample(runtime, plugin, client, number, "start"))
        return;
    uint64_t interval_ns = runtime->settings->memory_ns;
    uint64_t step_ns = interval_ns < FIRST_STEP_NS ? interval_ns : FIRST_STEP_NS;
    atomic_store(&schedules[plugin->slot].step_ns, step_ns);
    atomic_store(&schedules[plugin->slot].due_ns, rk_monotonic_ns() + step_ns);
}

// If several threads find that a sample is due, one of them takes it.
static bool it_is_time(schedule *s, uint64_t interval_ns) {
    uint64_t due_ns = atomic_load_explicit(&s->due_ns, memory_order_relaxed);
    if (due_ns == 0)
        return false;
    uint64_t now_ns = rk_monotonic_ns();
    if (now_ns < due_ns)
        return false;
    uint64_t step_ns = 2 * atomic_load(&s->step_ns);
    step_ns = step_ns < interval_ns ? step_ns : interval_ns;
    if (!atomic_compare_exchange_strong(&s->due_ns, &due_ns, now_ns + step_ns))
        return false;
    atomic_store(&s->step_ns, step_ns);
    return true;
}

void rk_memory_look(rk_plugin *plugin) {
    enum { CLIENTS_MAX = 64 };
    const rk_runtime *runtime = rk_runtime_get();
    if (!runtime || !it_is_time(&schedules[plugin->slot], runtime->settings->memory_ns))
        return;
    int cancel_state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    if (pthread_mutex_trylock(&asking) == 0) {
        rk_client_name clients[CLIENTS_MAX];
        bool ended = !rk_runtime_get(); // in the meantime
        size_t count = ended ? 0 : rk_clients_list(plugin, clients, CLIENTS_MAX);
        for (size_t i = 0; i < count; i++)
            (void)sample(runtime, plugin, clients[i].handle, clients[i].number, "interval");
        (void)pthread_mutex_unlock(&asking);
    }
    (void)pthread_setcancelstate(cancel_state, NULL);
}

void rk_memory_end(rk_plugin *plugin, PJRT_Client *client, uint64_t number) {
    const rk_runtime *runtime = rk_runtime_get();
    if (runtime && atomic_load(&schedules[plugin->slot].due_ns))
        (void)sample(runtime, plugin, client, number, "end");
}

void rk_memory_quiesce(void) {
    (void)pthread_mutex_lock(&asking);
    (void)pthread_mutex_unlock(&asking);
}
