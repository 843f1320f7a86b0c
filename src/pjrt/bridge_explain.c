#include "pjrt/bridge_explain.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/buf.h"

// Parsing a refusal.

static bool skip_text(const char **at, const char *end, const char *text) {
    size_t len = strlen(text);
    if ((size_t)(end - *at) < len || memcmp(*at, text, len) != 0)
        return false;
    *at += len;
    return true;
}

static bool read_size(const char **at, const char *end, size_t *out_size) {
    enum { MAX_SIZE = 1 << 20 };
    const char *start = *at;
    size_t size = 0;
    for (; *at < end && **at >= '0' && **at <= '9' && size <= MAX_SIZE; (*at)++)
        size = size * 10 + (size_t)(**at - '0');
    *out_size = size;
    return *at > start && size <= MAX_SIZE;
}

bool rk_refusal_parse(const char *message, size_t len, rk_refusal *out_refusal) {
    if (!message)
        return false;
    const char *at = message, *end = message + len;
    if (!skip_text(&at, end, "Unexpected "))
        return false;
    out_refusal->name = at;
    while (at < end && *at != ' ')
        at++;
    out_refusal->name_len = (size_t)(at - out_refusal->name);
    out_refusal->id = rk_struct_named(out_refusal->name, out_refusal->name_len);
    return skip_text(&at, end, " size: expected ") && read_size(&at, end, &out_refusal->expected) &&
           skip_text(&at, end, ", got ") && read_size(&at, end, &out_refusal->got);
}

// The caller's version.

void rk_bridge_note_caller(rk_bridge *bridge, rk_struct_id id, size_t declared) {
    rk_minor_range range = rk_struct_minors(id, declared);
    int from = atomic_load(&bridge->caller_from), to = atomic_load(&bridge->caller_to);
    while (from < range.from &&
           !atomic_compare_exchange_weak(&bridge->caller_from, &from, range.from))
        continue;
    while (to > range.to && !atomic_compare_exchange_weak(&bridge->caller_to, &to, range.to))
        continue;
}

static void add_caller(rk_buf *out, const rk_bridge *bridge, bool older) {
    int from = atomic_load(&bridge->caller_from), to = atomic_load(&bridge->caller_to);
    if (older && to >= bridge->minor)
        to = bridge->minor - 1;
    if (from > to) // several callers in one process
        from = 0;
    if (from == to)
        rk_buf_add_format(out, "0.%d", to);
    else if (from == 0)
        rk_buf_add_format(out, "0.%d or older", to);
    else if (to == INT_MAX)
        rk_buf_add_format(out, "0.%d or newer", from);
    else
        rk_buf_add_format(out, "0.%d to 0.%d", from, to);
}

rk_err *rk_bridge_gap(rk_bridge *bridge, rk_struct_id id, size_t declared, size_t size, size_t at) {
    RK_AUTO(rk_buf) caller = RK_BUF_INIT(0);
    add_caller(&caller, bridge, false);
    return rk_error(RK_FAILED_PRECONDITION,
                    "rekindle: this plugin has PJRT API 0.%d and accepts a %s of %zu bytes; the "
                    "framework has %s, passes %zu bytes, and sets a later field (byte %zu); use a "
                    "plugin as new as the framework",
                    bridge->minor, rk_structs[id].name, size, rk_buf_text(&caller), declared, at);
}

// Explained messages are never freed. There are few. A caller may use the pointer until it destroys
// the plugin's error, and rekindle does not watch when that happens.

enum { KEPT_MESSAGES = 64 };
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static char *kept[KEPT_MESSAGES];

// Returns the kept copy of the text, making it if necessary; NULL if memory or the table is full.
static const char *keep(const char *text) {
    const char *found = NULL;
    (void)pthread_mutex_lock(&kept_lock);
    for (size_t i = 0; i < KEPT_MESSAGES && !found; i++) {
        if (!kept[i])
            found = kept[i] = rk_strdup(text);
        else if (strcmp(kept[i], text) == 0)
            found = kept[i];
        if (!kept[i])
            break; // no memory
    }
    (void)pthread_mutex_unlock(&kept_lock);
    return found;
}

const char *rk_bridge_explain(rk_bridge *bridge, const char *message, size_t message_size) {
    rk_refusal refusal;
    if (!rk_refusal_parse(message, message_size, &refusal) || refusal.got == refusal.expected)
        return NULL;
    bool older = refusal.got < refusal.expected;
    if (refusal.id != RK_STRUCT_NONE)
        rk_bridge_note_caller(bridge, refusal.id, refusal.got);
    RK_AUTO(rk_buf) text = RK_BUF_INIT(4096);
    rk_buf_add(&text, message, message_size);
    rk_buf_add_text(&text, " rekindle: the framework has PJRT API ");
    add_caller(&text, bridge, older);
    rk_buf_add_format(&text,
                      ", this plugin 0.%d, and rekindle does not bridge %.*s between them; use a "
                      "plugin built for the framework's version, or a framework %s",
                      bridge->minor, (int)refusal.name_len, refusal.name,
                      older ? "as new as the plugin" : "as old as the plugin");
    rk_err *err = rk_buf_status(&text);
    if (err) {
        rk_err_drop(err, "the plugin's own message stands");
        return NULL;
    }
    return keep(rk_buf_text(&text));
}
