#include "pjrt/wrap.h"

#include <dlfcn.h>
#include <pthread.h>

#include "base/alloc.h"
#include "pjrt/changes_internal.h"
#include "pjrt/extensions.h"
#include "pjrt/hooks.h"
#include "pjrt/lifecycle.h"
#include "pjrt/own_note.h"

enum { TABLE_MAX_BYTES = 65536 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

// Returns NULL if rekindle can wrap the table. rekindle refuses tables of an unknown format or an
// incompatible major version, and tables of 0.56, which ordered its entries differently from all
// other versions (the API's change log, 0.57).
static rk_err *check_table(const PJRT_Api *api) {
    enum { REARRANGED_MINOR = 56 };
    if (api->struct_size > TABLE_MAX_BYTES || !RK_PJRT_HAS(api, PJRT_Client_Compile))
        return rk_error(RK_INVALID_ARGUMENT, "its table of %zu bytes has an unknown format",
                        api->struct_size);
    int major = api->pjrt_api_version.major_version, minor = api->pjrt_api_version.minor_version;
    if (major != PJRT_API_MAJOR || minor == REARRANGED_MINOR)
        return rk_error(RK_UNIMPLEMENTED, "rekindle does not know PJRT API %d.%d", major, minor);
    return NULL;
}

// Returns the real size of a table. From 0.40 until 0.57, tables declared a size that was too
// small, and frameworks of these versions used the entries beyond it. Source: PJRT_Api_STRUCT_SIZE
// in 0.54 and 0.55.
static size_t table_bytes(const PJRT_Api *api) {
    enum { CORRECTED_MINOR = 57, EXECUTE_CONTEXTS_MINOR = 52, KIND_IDS_MINOR = 48 };
    enum { MEMORY_STATS_MINOR = 40 };
    int minor = api->pjrt_api_version.minor_version;
    size_t size = api->struct_size;
    if (minor >= CORRECTED_MINOR || minor < MEMORY_STATS_MINOR)
        return size;
    size_t end = RK_PJRT_SIZE_TO(PJRT_Api, PJRT_Executable_GetCompiledMemoryStats);
    if (minor >= EXECUTE_CONTEXTS_MINOR)
        end = RK_PJRT_SIZE_TO(PJRT_Api, PJRT_ExecuteContext_Destroy);
    else if (minor >= KIND_IDS_MINOR)
        end = RK_PJRT_SIZE_TO(PJRT_Api, PJRT_Memory_Kind_Id);
    return size < end ? end : size;
}

// Keeps a watched plugin loaded: a rekindle thread may be inside it when its user unloads it.
static void pin_library_of(const void *address) {
    Dl_info info;
    if (dladdr(address, &info) && info.dli_fname)
        (void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

static const PJRT_Api *wrap_in_slot(const PJRT_Api *real, int slot) {
    size_t bytes = table_bytes(real);
    PJRT_Api *wrapped = rk_malloc(bytes);
    if (!wrapped)
        return real;
    memcpy(wrapped, real, bytes);
    pin_library_of((const void *)(uintptr_t)real->PJRT_Client_Compile);
    rk_plugin *plugin = &rk_plugin_slots[slot];
    plugin->real = real;
    plugin->wrapped = wrapped;
    plugin->bytes = bytes;
    plugin->slot = slot;
    plugin->first_state = rk_changes_look();
    rk_bridge_open(&plugin->bridge, real);
    rk_extensions_watch(plugin);
    rk_hooks_install(plugin);
    rk_plugin_publish(slot);
    return wrapped;
}

// True once per table, for as many tables as fit the list.
static bool is_newly_refused(const PJRT_Api *real) {
    static const PJRT_Api *refused[RK_PLUGIN_SLOTS];
    for (size_t i = 0; i < RK_ARRAY_LEN(refused); i++) {
        if (refused[i] == real)
            return false;
        if (!refused[i]) {
            refused[i] = real;
            return true;
        }
    }
    return false;
}

static rk_err *too_many(void) {
    return rk_error(RK_RESOURCE_EXHAUSTED,
                    "more than %d PJRT plugins in one process; the others are not watched",
                    RK_PLUGIN_SLOTS);
}

// `out_refusal`: why the result is `real`, if this needs a warning.
static const PJRT_Api *wrap_locked(const PJRT_Api *real, rk_err **out_refusal) {
    int used = rk_plugin_count();
    for (int i = 0; i < used; i++)
        if (rk_plugin_slots[i].real == real)
            return rk_plugin_slots[i].wrapped;
    rk_err *err = check_table(real);
    if (!err && rk_own_note_covers((const void *)(uintptr_t)real->PJRT_Client_Compile))
        return real;
    if (!err && used == RK_PLUGIN_SLOTS)
        err = too_many();
    if (!err)
        return wrap_in_slot(real, used);
    if (is_newly_refused(real))
        *out_refusal = err;
    else
        rk_err_drop(err, "it was told");
    return real;
}

// Consumes `refusal`.
static void warn_refused(const void *address, rk_err *refusal) {
    Dl_info info;
    bool known = dladdr(address, &info) && info.dli_fname;
    // First, because this starts the journal.
    rk_lifecycle_note_unwatched(address, rk_err_message(refusal));
    if (rk_err_code(refusal) != RK_RESOURCE_EXHAUSTED)
        refusal = rk_err_wrap(refusal, "the PJRT plugin %s is not watched",
                              known ? info.dli_fname : "of this process");
    rk_warn_once(RK_WARNING_UNWATCHED, refusal);
}

void rk_wrap_warn_too_many(const void *get_api) {
    if (rk_runtime_enabled())
        warn_refused(get_api, too_many());
}

const PJRT_Api *rk_wrap_table(const PJRT_Api *real) {
    if (!real || !rk_runtime_enabled())
        return real;
    rk_err *refusal = NULL;
    (void)pthread_mutex_lock(&mutex);
    const PJRT_Api *answer = wrap_locked(real, &refusal);
    (void)pthread_mutex_unlock(&mutex);
    if (refusal)
        warn_refused(real, refusal);
    return answer;
}
