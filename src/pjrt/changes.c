#include "pjrt/changes_internal.h"

#include <pthread.h>
#include <stdio.h>

#include "base/json.h"
#include "identity/environment.h"
#include "pjrt/runtime.h"

enum {
    STATES_MAX = 64,
    CHANGE_MAX_BYTES = 64 << 10, // as text
};

// One state of the environment. Immutable once it is counted, except `uses`.
typedef struct state {
    rk_components variables;
    rk_digest digest;
    atomic_uint uses[RK_PLUGIN_SLOTS]; // bits of rk_plugin_use
} state;

static state states[STATES_MAX];
static atomic_int state_count;
static atomic_bool lost;                                  // a state could not be recorded
static atomic_uint_fast64_t last_mark;                    // rk_environment_mark of the last state
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; // for adding a state

static rk_err *read_state(state *out) {
    const rk_settings_values *settings = rk_runtime_settings();
    RK_TRY(rk_environment_add_variables(settings ? settings->key_ignore : "", &out->variables));
    rk_components_digest(&out->variables, &out->digest);
    return NULL;
}

// Called with the mutex held.
static void add_state(void) {
    int count = atomic_load(&state_count);
    if (count == STATES_MAX) {
        atomic_store(&lost, true);
        return;
    }
    state *next = &states[count];
    rk_err *err = read_state(next);
    bool same = !err && count && rk_digest_equal(&next->digest, &states[count - 1].digest);
    if (err)
        atomic_store(&lost, true);
    if (err || same)
        rk_components_cleanup(&next->variables);
    else
        atomic_store_explicit(&state_count, count + 1, memory_order_release);
    rk_err_drop(err, "what is compiled from now on gets no key");
}

int rk_changes_look(void) {
    uint64_t mark = rk_environment_mark();
    int count = atomic_load_explicit(&state_count, memory_order_acquire);
    if (!count || mark != atomic_load(&last_mark)) {
        (void)pthread_mutex_lock(&mutex);
        add_state();
        atomic_store(&last_mark, mark);
        count = atomic_load(&state_count);
        (void)pthread_mutex_unlock(&mutex);
    }
    return atomic_load(&lost) ? RK_CHANGES_UNKNOWN : count - 1;
}

void rk_changes_note(const rk_plugin *plugin, rk_plugin_use use) {
    int count = atomic_load_explicit(&state_count, memory_order_acquire);
    if (count &&
        !(atomic_load_explicit(&states[count - 1].uses[plugin->slot], memory_order_relaxed) & use))
        (void)atomic_fetch_or(&states[count - 1].uses[plugin->slot], use);
}

void rk_changes_look_and_note(const rk_plugin *plugin, rk_plugin_use use) {
    if (rk_runtime_enabled() && rk_changes_look() != RK_CHANGES_UNKNOWN)
        rk_changes_note(plugin, use);
}

// True if the environment has changed since the plugin was opened.
static bool is_changed(const rk_plugin *plugin, int now) {
    return now != RK_CHANGES_UNKNOWN && plugin->first_state != RK_CHANGES_UNKNOWN &&
           now > plugin->first_state;
}

void rk_changes_mix(const rk_plugin *plugin, int now, rk_digest *environment) {
    if (!is_changed(plugin, now))
        return;
    rk_hasher hasher;
    rk_hasher_init(&hasher);
    rk_hasher_add_field(&hasher, rk_span_text("rekindle environment changes 1"));
    rk_hasher_add(&hasher, environment->bytes, sizeof environment->bytes);
    for (int i = plugin->first_state; i <= now; i++) {
        rk_hasher_add(&hasher, states[i].digest.bytes, sizeof states[i].digest.bytes);
        // Uses in the current state do not matter: a later read gives the current value, with or
        // without an earlier read in this state.
        rk_hasher_add_u64(&hasher, i < now ? atomic_load(&states[i].uses[plugin->slot]) : 0);
    }
    rk_hasher_finish(&hasher, environment);
}

// The changes as text.

static const rk_component *find(const rk_components *list, const char *name) {
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return &list->items[i];
    return NULL;
}

static void add_value(rk_buf *out, const rk_component *item) {
    if (item)
        rk_buf_add_format(out, "\"%.*s\"", (int)item->value_len, item->value);
    else
        rk_buf_add_text(out, "unset");
}

static void add_difference(rk_buf *out, const char *name, const rk_component *before,
                           const rk_component *after) {
    rk_buf_add_format(out, " %s ", name);
    add_value(out, before);
    rk_buf_add_text(out, " -> ");
    add_value(out, after);
}

// Appends, for example: after client, compile: XLA_FLAGS:--xla_foo "1" -> "2"
static void add_change(rk_buf *out, const rk_plugin *plugin, const state *from, const state *to) {
    static const char *const names[] = {"client", "load", "compile"};
    unsigned uses = atomic_load(&from->uses[plugin->slot]);
    const char *before = "after ";
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++) {
        if (uses & (1u << i)) {
            rk_buf_add_format(out, "%s%s", before, names[i]);
            before = ", ";
        }
    }
    rk_buf_add_text(out, uses ? ":" : "before use:");
    for (size_t i = 0; i < from->variables.count; i++) {
        const rk_component *old = &from->variables.items[i];
        const rk_component *item = find(&to->variables, old->name);
        if (!item || item->value_len != old->value_len ||
            memcmp(item->value, old->value, old->value_len) != 0)
            add_difference(out, old->name, old, item);
    }
    for (size_t i = 0; i < to->variables.count; i++)
        if (!find(&from->variables, to->variables.items[i].name))
            add_difference(out, to->variables.items[i].name, NULL, &to->variables.items[i]);
}

static rk_err *list_changes(const rk_plugin *plugin, int now, rk_components *out) {
    for (int i = plugin->first_state; i < now; i++) {
        RK_AUTO(rk_buf) text = RK_BUF_INIT(CHANGE_MAX_BYTES);
        char name[40];
        (void)snprintf(name, sizeof name, "environment.change.%d", i - plugin->first_state + 1);
        add_change(&text, plugin, &states[i], &states[i + 1]);
        RK_TRY(rk_buf_status(&text));
        RK_TRY(rk_components_add(out, RK_COMPONENT_VARIABLE, name, rk_buf_span(&text)));
    }
    return NULL;
}

void rk_changes_write(const rk_plugin *plugin, int now, rk_buf *components_json) {
    if (!is_changed(plugin, now) || components_json->len < 2)
        return;
    RK_AUTO(rk_components) list = {0};
    RK_AUTO(rk_buf) mine = {0};
    rk_json json = rk_json_on(&mine);
    rk_err_drop(list_changes(plugin, now, &list), "then a difference is not named");
    rk_components_write(&list, &json);
    if (!list.count || mine.failed)
        return;
    components_json->len--; // "[…]" and "[…]" become one list
    if (components_json->len > 1)
        rk_buf_add_byte(components_json, ',');
    rk_buf_add(components_json, mine.data + 1, mine.len - 1);
}
