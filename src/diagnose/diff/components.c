#include "diagnose/diff/components.h"

#include "base/alloc.h"
#include "identity/components.h"

// Fills `map`: "kind name" to value. The map holds references to the values.
static rk_err *collect(const json_t *list, json_t *map) {
    size_t index;
    json_t *value;
    const char *name;
    if (json_is_object(list)) {
        json_object_foreach((json_t *)(uintptr_t)list, name, value) RK_TRY(collect(value, map));
        return NULL;
    }
    json_array_foreach(list, index, value) {
        RK_AUTO(rk_buf) key = {0};
        const char *kind = json_string_value(json_object_get(value, "kind"));
        name = json_string_value(json_object_get(value, "name"));
        json_t *held = json_object_get(value, "value");
        if (!kind || !name || !held)
            continue;
        rk_buf_add_format(&key, "%s %s", kind, name);
        RK_TRY(rk_buf_status(&key));
        if (json_object_set(map, rk_buf_text(&key), held) != 0)
            return rk_err_no_memory();
    }
    return NULL;
}

static bool kind_of(const char *key, rk_difference_kind *out_kind) {
    for (int kind = RK_DIFFERENCE_OPTION; kind < RK_DIFFERENCE_KIND_COUNT; kind++) {
        const char *name = rk_difference_kind_name((rk_difference_kind)kind);
        size_t len = strlen(name);
        *out_kind = (rk_difference_kind)kind;
        if (strncmp(key, name, len) == 0 && key[len] == ' ')
            return true;
    }
    return false;
}

static rk_err *copy_value(const json_t *value, char **out_text) {
    *out_text = NULL;
    if (!value)
        return NULL;
    const char *text = json_string_value(value);
    if (!text)
        text = json_string_value(json_object_get(value, "digest")); // too long to be kept
    *out_text = rk_strdup(text ? text : "");
    return *out_text ? NULL : rk_err_no_memory();
}

static rk_err *add(rk_differences *list, const char *key, const json_t *before, const json_t *after,
                   bool follows) {
    rk_difference d = {.follows = follows};
    if (!kind_of(key, &d.kind))
        return NULL;
    const char *name = key + strlen(rk_difference_kind_name(d.kind)) + 1;
    rk_err *err = rk_difference_text(rk_span_text(name), &d.attribute);
    if (!err)
        err = copy_value(before, &d.before);
    if (!err)
        err = copy_value(after, &d.after);
    rk_err *added = rk_differences_add(list, &d);
    if (!err)
        return added;
    rk_err_free(added);
    return err;
}

// A fingerprint says nothing to a reader. It follows from other devices.
static bool is_fingerprint(const char *key, const json_t *before, const json_t *after) {
    static const char devices[] = "topology topology.devices";
    const json_t *a = json_object_get(before, devices), *b = json_object_get(after, devices);
    return strcmp(key, "topology topology.fingerprint") == 0 && a && b && !json_equal(a, b);
}

static rk_err *compare(json_t *before, json_t *after, rk_differences *list) {
    const char *key;
    json_t *value;
    json_object_foreach(before, key, value) {
        const json_t *other = json_object_get(after, key);
        if (!other || !json_equal(value, other))
            RK_TRY(add(list, key, value, other, is_fingerprint(key, before, after)));
    }
    json_object_foreach(after, key, value) if (!json_object_get(before, key))
        RK_TRY(add(list, key, NULL, value, false));
    return NULL;
}

rk_err *rk_diff_components(const json_t *before, const json_t *after, rk_differences *list) {
    json_t *from = json_object(), *to = json_object();
    rk_err *err = from && to ? collect(before, from) : rk_err_no_memory();
    if (!err)
        err = collect(after, to);
    if (!err)
        err = compare(from, to, list);
    json_decref(from);
    json_decref(to);
    return err;
}

static rk_err *add_version(rk_differences *list, const char *name, const json_t *before,
                           const json_t *after) {
    RK_AUTO(rk_buf) key = {0};
    rk_buf_add_format(&key, "version %s", name);
    RK_TRY(rk_buf_status(&key));
    return add(list, rk_buf_text(&key), before, after, false);
}

static bool is_framework(const char *name) {
    static const char *const names[] = {"jax", "jaxlib", "libtpu", "torch", "torch_xla"};
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static rk_err *add_changed_version(rk_differences *list, const char *name, const json_t *before,
                                   const json_t *after) {
    return before && after && !json_equal(before, after) ? add_version(list, name, before, after)
                                                         : NULL;
}

// Python comes last: the framework says more.
rk_err *rk_diff_toolchains(const json_t *before, const json_t *after, rk_differences *list) {
    static const char last[] = "python";
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)before, name, value) {
        if (is_framework(name))
            RK_TRY(add_changed_version(list, name, value, json_object_get(after, name)));
    }
    return add_changed_version(list, last, json_object_get(before, last),
                               json_object_get(after, last));
}

rk_err *rk_diff_libraries(const json_t *before, const json_t *after, const rk_model *model,
                          rk_differences *list) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)before, name, value) {
        if (!is_framework(name) && strcmp(name, "python") != 0 && rk_source_is_from(model, name))
            RK_TRY(add_changed_version(list, name, value, json_object_get(after, name)));
    }
    return NULL;
}

rk_cause rk_components_cause(const rk_differences *list) {
    static const struct {
        rk_difference_kind kind;
        rk_cause cause;
    } order[] = {
        {RK_DIFFERENCE_VERSION, RK_CAUSE_TOOLCHAIN}, {RK_DIFFERENCE_TOPOLOGY, RK_CAUSE_DEVICE},
        {RK_DIFFERENCE_FLAG, RK_CAUSE_ENVIRONMENT},  {RK_DIFFERENCE_VARIABLE, RK_CAUSE_ENVIRONMENT},
        {RK_DIFFERENCE_OPTION, RK_CAUSE_OPTIONS},
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(order); i++)
        for (size_t k = 0; k < list->count; k++)
            if (list->items[k].kind == order[i].kind)
                return order[i].cause;
    return RK_CAUSE_FIRST;
}

// Joining.

// Options whose values follow from the number of inputs and of devices.
static bool follows_from_program(const rk_difference *d) {
    static const char *const parts[] = {"allow_spmd_sharding_propagation", "num_partitions",
                                        "num_replicas", "device_assignment"};
    for (size_t i = 0; i < RK_ARRAY_LEN(parts); i++)
        if (d->kind == RK_DIFFERENCE_OPTION && d->attribute && strstr(d->attribute, parts[i]))
            return true;
    return false;
}

// An option that the call sets (compiler_options) follows from no flag.
static bool is_set_at_call(const rk_difference *d) {
    return d->attribute && strncmp(d->attribute, "env_option_overrides", 20) == 0;
}

static rk_err *append(rk_differences *list, rk_differences *from) {
    for (size_t i = 0; i < from->count; i++) {
        from->items[i].order = (uint32_t)list->count; // both lists are sorted already
        RK_TRY(rk_differences_add(list, &from->items[i]));
    }
    list->left_out += from->left_out;
    return NULL;
}

bool rk_rules_over_program(rk_cause cause) {
    return cause == RK_CAUSE_TOOLCHAIN || cause == RK_CAUSE_DEVICE;
}

rk_err *rk_join_components(rk_program_diff *diff, rk_differences *components) {
    rk_cause other = rk_components_cause(components);
    bool rules = diff->cause == RK_CAUSE_FIRST || rk_rules_over_program(other);
    for (size_t i = 0; i < components->count; i++)
        components->items[i].follows |=
            diff->list.cause_count && follows_from_program(&components->items[i]);
    // A flag that the framework reads also changes the options.
    for (size_t i = 0; i < components->count && other != RK_CAUSE_OPTIONS; i++)
        components->items[i].follows |= components->items[i].kind == RK_DIFFERENCE_OPTION &&
                                        !is_set_at_call(&components->items[i]);
    // Another version or another set of devices explains the differences of the program.
    for (size_t i = 0; i < diff->list.count && rules; i++)
        diff->list.items[i].follows = true;
    diff->cause = rules ? other : diff->cause;
    RK_AUTO(rk_differences) program = diff->list;
    diff->list = (rk_differences){0};
    RK_TRY(append(&diff->list, rules ? components : &program));
    RK_TRY(append(&diff->list, rules ? &program : components));
    rk_differences_sort(&diff->list);
    return NULL;
}
