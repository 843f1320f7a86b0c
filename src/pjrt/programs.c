#include "pjrt/programs.h"

#include <stdio.h>

#include "base/alloc.h"
#include "diagnose/diff/framework.h"

enum { FIRST_SLOTS = 64, REMOVED = 1 };

void rk_programs_cleanup(rk_programs *programs) {
    rk_free(programs->items);
    rk_free(programs->by_key);
    rk_free(programs->executables);
    *programs = (rk_programs){0};
}

// FNV-1a, in 31 bits. Names with the same hash are rare, and harmless.
static uint32_t number_of_name(rk_span name) {
    uint32_t hash = 0x811c9dc5u;
    for (size_t i = 0; i < name.len; i++)
        hash = (hash ^ name.data[i]) * 0x01000193u;
    return hash >> 1;
}

// Returns the name without the number that PyTorch/XLA appends: "SyncTensorsGraph.42".
// `*out_is_users`: the user gave the name. False for a name with a number, for a Python lambda, and
// for the functions of jax.pmap, which all have one name.
static rk_span read_name(const char *name, bool *out_is_users) {
    size_t len = strlen(name), digits = 0;
    while (digits < len && name[len - 1 - digits] >= '0' && name[len - 1 - digits] <= '9')
        digits++;
    bool is_numbered = digits > 0 && digits < len && name[len - 1 - digits] == '.';
    rk_span bare = rk_span_of(name, is_numbered ? len - digits - 1 : len);
    *out_is_users = bare.len > 0 && !is_numbered && !rk_span_ends(bare, "__lambda") &&
                    !rk_span_ends(bare, "__lambda_") && !rk_is_name_of_pmap(bare);
    return bare;
}

bool rk_programs_is_anonymous(const char *name) {
    static const char *const names[] = {
        "jit_scan",
        "jit_while",
        "jit_cond",
        "jit_custom_jvp_call",
        "jit_custom_vjp_call",
        "jit_custom_vjp_call_jaxpr",
        "jit_custom_linear_solve",
        "jit_checkpoint",
        "jit_reduce",
        "jit_reduce_window",
        "jit_pure_callback",
        "jit_io_callback",
        "jit_call_exported",
        "jit__unnamed_function_",
        "jit__unnamed_wrapped_function_",
        "jit_wrapped", // a Pallas kernel
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

// Returns whether the program's locations name a function `name`: "step", "make.<locals>.step".
// MLIR bytecode ends each string with a zero byte.
static bool has_frame(rk_span code, rk_span name) {
    const uint8_t *at = code.data, *end = code.data + code.len;
    while ((at = memmem(at, (size_t)(end - at), name.data, name.len))) {
        bool begins = at > code.data && (at[-1] == 0 || at[-1] == '.');
        if (begins && at + name.len < end && at[name.len] == 0)
            return true;
        at++;
    }
    return false;
}

// Returns whether a name stack of the program begins with `function`, and goes on with
// `primitive`, if that is not empty: "jit(sqrt)/sqrt".
static bool has_name_stack(rk_span code, rk_span function, rk_span primitive) {
    char stack[128];
    int len =
        snprintf(stack, sizeof stack, "jit(%.*s)/%.*s", (int)function.len,
                 (const char *)function.data, (int)primitive.len, (const char *)primitive.data);
    // With its zero byte: "jit(dot)/dot" is not in "jit(dot)/dot_general".
    return len < (int)sizeof stack &&
           memmem(code.data, code.len, stack, (size_t)len + (primitive.len > 0));
}

bool rk_programs_is_operation(rk_span code, const char *name, const rk_program_role *role) {
    enum { CODE_MAX = 1 << 16, OPERATIONS_MAX = 512, INPUTS_MAX = 4, FEW_OPERATIONS = 16 };
    enum { EMPTY = 2 }; // the function and its return, as in a conversion to the same type
    static const char prefix[] = "jit_";
    size_t len = strlen(name), skip = sizeof prefix - 1;
    bool is_user_name;
    (void)read_name(name, &is_user_name);
    // JAX records ten frames at most: the frame of a function with deep calls may be missing.
    bool is_small = role->operations > 0 && role->operations <= OPERATIONS_MAX &&
                    role->carried <= 1 && code.len <= CODE_MAX &&
                    (role->inputs <= INPUTS_MAX || role->operations <= FEW_OPERATIONS);
    if (!is_small || !is_user_name || len <= skip || memcmp(name, prefix, skip) != 0 ||
        rk_programs_is_anonymous(name))
        return false;
    if (role->operations <= EMPTY)
        return true;
    rk_span function = rk_span_of(name + skip, len - skip);
    // Without full tracebacks in its locations, JAX writes neither frames nor name stacks.
    if (!has_name_stack(code, function, (rk_span){0}))
        return false;
    return !has_frame(code, function) ||
           (role->operations <= FEW_OPERATIONS && has_name_stack(code, function, function));
}

static uint32_t slot_of_key(const rk_programs *programs, const rk_digest *key) {
    uint32_t slot;
    memcpy(&slot, key->bytes, sizeof slot);
    for (;; slot++) {
        slot &= programs->key_slots - 1;
        uint32_t number = programs->by_key[slot];
        if (number == 0 || rk_digest_equal(&programs->items[number - 1].key, key))
            return slot;
    }
}

static bool reserve_key(rk_programs *programs) {
    if (2 * programs->count < programs->key_slots)
        return true;
    uint32_t slots = programs->key_slots ? 2 * programs->key_slots : FIRST_SLOTS;
    uint32_t *grown = rk_calloc(slots, sizeof *grown);
    if (!grown)
        return false;
    rk_free(programs->by_key);
    programs->by_key = grown;
    programs->key_slots = slots;
    for (uint32_t i = 0; i < programs->count; i++)
        if (programs->items[i].has_key)
            grown[slot_of_key(programs, &programs->items[i].key)] = i + 1;
    return true;
}

static bool reserve_program(rk_programs *programs) {
    if (programs->count < programs->capacity)
        return true;
    uint32_t larger = programs->capacity ? 2 * programs->capacity : FIRST_SLOTS;
    rk_known_program *items = rk_realloc(programs->items, larger * sizeof *items);
    if (!items)
        return false;
    programs->items = items;
    programs->capacity = larger;
    return true;
}

void rk_programs_set_role(rk_step_program *step, const rk_program_role *role) {
    step->operations = role->operations;
    step->inputs = role->inputs;
    step->carried = role->carried;
    step->carried_types = role->carried_types;
    step->carried_set = role->carried_set;
    step->carried_bytes = role->carried_bytes;
}

uint32_t rk_programs_add(rk_programs *programs, const rk_digest *key, const char *name,
                         const rk_program_role *role) {
    if (!reserve_key(programs) || !reserve_program(programs))
        return RK_NO_PROGRAM;
    uint32_t *slot = key ? &programs->by_key[slot_of_key(programs, key)] : NULL;
    if (slot && *slot)
        return *slot - 1;
    bool is_user_name;
    rk_span bare = read_name(name, &is_user_name);
    rk_known_program *program = &programs->items[programs->count++];
    *program = (rk_known_program){
        .has_key = key != NULL,
        .step = {.number = programs->count - 1,
                 .name = number_of_name(bare),
                 // Two passes of one function are two programs.
                 .is_user_name = is_user_name && !(role && role->is_transformed)}};
    if (role)
        rk_programs_set_role(&program->step, role);
    if (key)
        program->key = *key;
    if (slot)
        *slot = programs->count;
    return programs->count - 1;
}

bool rk_programs_know(const rk_programs *programs, uint32_t count, const char *name,
                      bool *out_is_users) {
    uint32_t number = number_of_name(read_name(name, out_is_users));
    for (uint32_t i = 0; i < programs->count && i < count && *out_is_users; i++)
        if (programs->items[i].step.name == number && programs->items[i].step.is_user_name)
            return true;
    return false;
}

static struct rk_executable_slot *slot_of(const rk_programs *programs, uint64_t handle) {
    uint32_t slot = (uint32_t)((handle >> 4) * 0x9E3779B97F4A7C15u >> 32);
    for (;; slot++) {
        slot &= programs->executable_slots - 1;
        struct rk_executable_slot *at = &programs->executables[slot];
        if (at->handle == handle || at->handle == 0)
            return at;
    }
}

// Makes space for one more executable. Growing also frees the slots of removed executables.
static bool reserve_executable(rk_programs *programs) {
    if (2 * programs->executable_used < programs->executable_slots)
        return true;
    const struct rk_executable_slot *old = programs->executables;
    uint32_t old_slots = programs->executable_slots, alive = 0;
    for (uint32_t i = 0; i < old_slots; i++)
        alive += old[i].handle > REMOVED;
    uint32_t slots = FIRST_SLOTS;
    while (slots < 4 * (alive + 1))
        slots *= 2;
    struct rk_executable_slot *grown = rk_calloc(slots, sizeof *grown);
    if (!grown)
        return false;
    rk_programs moved = {.executables = grown, .executable_slots = slots};
    for (uint32_t i = 0; i < old_slots; i++)
        if (old[i].handle > REMOVED)
            *slot_of(&moved, old[i].handle) = old[i];
    rk_free(programs->executables);
    programs->executables = grown;
    programs->executable_slots = slots;
    programs->executable_used = alive;
    return true;
}

bool rk_programs_bind(rk_programs *programs, uint64_t handle, uint32_t program) {
    if (!reserve_executable(programs))
        return false;
    struct rk_executable_slot *slot = slot_of(programs, handle);
    programs->executable_used += slot->handle == 0;
    *slot = (struct rk_executable_slot){handle, program};
    return true;
}

void rk_programs_unbind(rk_programs *programs, uint64_t handle) {
    if (programs->executable_slots == 0)
        return;
    struct rk_executable_slot *slot = slot_of(programs, handle);
    if (slot->handle == handle)
        slot->handle = REMOVED;
}

uint32_t rk_programs_of(const rk_programs *programs, uint64_t handle) {
    if (programs->executable_slots == 0)
        return RK_NO_PROGRAM;
    const struct rk_executable_slot *slot = slot_of(programs, handle);
    return slot->handle == handle ? slot->program : RK_NO_PROGRAM;
}
