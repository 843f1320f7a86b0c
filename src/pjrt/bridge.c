#include "pjrt/bridge.h"

#include <limits.h>

#include "pjrt/bridge_explain.h"
#include "pjrt/bridge_table.h"
#include "pjrt/error.h"

void rk_bridge_open(rk_bridge *bridge, const PJRT_Api *api) {
    bridge->api = api;
    bridge->minor = api->pjrt_api_version.minor_version;
    atomic_init(&bridge->caller_from, 0);
    atomic_init(&bridge->caller_to, INT_MAX);
    for (int id = 0; id < RK_STRUCT_COUNT; id++) {
        size_t least = rk_struct_size_demanded((rk_struct_id)id, bridge->minor);
        atomic_init(&bridge->accepted[id].fits_from, (unsigned)least);
        atomic_init(&bridge->accepted[id].least, (unsigned)least);
        atomic_init(&bridge->accepted[id].most, UINT_MAX);
    }
}

// The beginning of every argument struct.
typedef struct struct_head {
    size_t struct_size;
    PJRT_Extension_Base *extension_start;
} struct_head;

static size_t size_of(const void *args) {
    size_t size;
    memcpy(&size, args, sizeof size);
    return size;
}

// The caller's struct in a size that the plugin accepts.
typedef struct rebuilt {
    _Alignas(16) unsigned char bytes[RK_STRUCT_MAX_BYTES];
    size_t shared; // bytes that both versions have
} rebuilt;

static size_t size_for_plugin(rk_bridge *bridge, rk_struct_id id, size_t declared) {
    size_t least = atomic_load_explicit(&bridge->accepted[id].least, memory_order_relaxed);
    size_t most = atomic_load_explicit(&bridge->accepted[id].most, memory_order_relaxed);
    return declared < least ? least : declared > most ? most : declared;
}

// Checks that the fields beyond the plugin's size are unset. The plugin would otherwise ignore a
// part of the request.
static rk_err *check_unused(rk_bridge *bridge, rk_struct_id id, const void *args, size_t size) {
    const unsigned char *bytes = args;
    size_t declared = size_of(args);
    bool may_differ = rk_structs[id].results_only;
    for (size_t at = size; at < declared && !may_differ; at++)
        if (bytes[at] != 0 && at != rk_structs[id].default_at)
            return rk_bridge_gap(bridge, id, declared, size, at - at % sizeof(void *));
    return NULL;
}

// Gives the plugin the substitute for a function that the caller is too old to have, if the plugin
// may call it.
static void fill_substitute(const rk_struct_facts *facts, rebuilt *out, size_t size) {
    void *pointer = NULL;
    memcpy(&pointer, out->bytes + facts->needs_at, sizeof pointer);
    if (pointer && facts->substitute_at >= out->shared &&
        facts->substitute_at + sizeof facts->substitute <= size)
        memcpy(out->bytes + facts->substitute_at, &facts->substitute, sizeof facts->substitute);
}

static rk_err *rebuild(rk_bridge *bridge, rk_struct_id id, const void *args, rebuilt *out) {
    const rk_struct_facts *facts = &rk_structs[id];
    size_t declared = size_of(args);
    size_t held = declared < facts->steps[0].size ? facts->steps[0].size : declared;
    size_t size = size_for_plugin(bridge, id, declared);
    rk_bridge_note_caller(bridge, id, declared);
    if (size < declared)
        RK_TRY(check_unused(bridge, id, args, size));
    out->shared = held < size ? held : size;
    memset(out->bytes, 0, sizeof out->bytes);
    memcpy(out->bytes, args, out->shared);
    memcpy(out->bytes, &size, sizeof size);
    if (facts->default_at >= out->shared && facts->default_at < size)
        out->bytes[facts->default_at] = facts->default_value;
    if (facts->substitute)
        fill_substitute(facts, out, size);
    return NULL;
}

static bool can_rebuild(rk_bridge *bridge, rk_struct_id id, const void *args) {
    size_t declared = size_of(args);
    return declared >= sizeof(struct_head) && declared <= RK_STRUCT_MAX_BYTES &&
           size_for_plugin(bridge, id, declared) >= sizeof(struct_head);
}

static void *inner_of(rk_struct_id id, const void *args) {
    void *inner = NULL;
    size_t at = rk_structs[id].inner_at;
    if (at)
        memcpy(&inner, (const unsigned char *)args + at, sizeof inner);
    return inner;
}

static PJRT_Error *call_rebuilt(rk_bridge *bridge, rk_struct_id id, rk_pjrt_any_fn *function,
                                void *args) {
    const rk_struct_facts *facts = &rk_structs[id];
    rebuilt outer, inner;
    rk_err *err = rebuild(bridge, id, args, &outer);
    void *callers_inner = inner_of(id, args);
    if (!err && callers_inner && can_rebuild(bridge, facts->inner, callers_inner)) {
        void *address = inner.bytes;
        err = rebuild(bridge, facts->inner, callers_inner, &inner);
        memcpy(outer.bytes + facts->inner_at, &address, sizeof address);
    }
    if (err)
        return rk_pjrt_error_give(err);
    PJRT_Error *error = function(outer.bytes);
    if (callers_inner)
        memcpy(outer.bytes + facts->inner_at, &callers_inner, sizeof callers_inner);
    memcpy((unsigned char *)args + sizeof(size_t), outer.bytes + sizeof(size_t),
           outer.shared - sizeof(size_t));
    return error;
}

// Updates the accepted sizes from the plugin's refusal. True if the refused size will not be sent
// again, even if another thread has learned the same in the meantime.
static bool learn(rk_bridge *bridge, rk_struct_id id, const PJRT_Error *error) {
    rk_refusal refusal;
    rk_span text = rk_pjrt_error_text(bridge->api, error);
    if (!rk_refusal_parse((const char *)text.data, text.len, &refusal))
        return false;
    if (refusal.id != id && (!rk_structs[id].inner_at || refusal.id != rk_structs[id].inner))
        return false;
    if (refusal.expected < sizeof(struct_head) || refusal.expected > RK_STRUCT_MAX_BYTES)
        return false;
    rk_struct_range *accepted = &bridge->accepted[refusal.id];
    unsigned expected = (unsigned)refusal.expected;
    bool too_short = refusal.got < refusal.expected;
    atomic_store(too_short ? &accepted->least : &accepted->most, expected);
    if (atomic_load(&accepted->least) > atomic_load(&accepted->most))
        atomic_store(too_short ? &accepted->most : &accepted->least, expected);
    bool any_length = atomic_load(&accepted->most) == UINT_MAX;
    atomic_store(&accepted->fits_from, any_length ? atomic_load(&accepted->least) : UINT_MAX);
    return refusal.got < atomic_load(&accepted->least) ||
           refusal.got > atomic_load(&accepted->most);
}

PJRT_Error *rk_bridge_mend(rk_bridge *bridge, rk_struct_id id, rk_pjrt_any_fn *function, void *args,
                           PJRT_Error *refusal) {
    enum { TRIES = 4 }; // two structs; each may first be too short and then too long
    PJRT_Error *error = refusal;
    if (!can_rebuild(bridge, id, args))
        return error ? error : function(args);
    for (int i = 0; i < TRIES; i++) {
        if (error && (rk_pjrt_error_is_ours(error) || !learn(bridge, id, error)))
            return error;
        rk_pjrt_error_drop(bridge->api, error);
        error = call_rebuilt(bridge, id, function, args);
        if (!error)
            return NULL;
    }
    return error;
}
