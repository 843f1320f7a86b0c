// Advice on a compilation, in the terms of the framework that requested it.
#include "base/alloc.h"
#include "diagnose/diff/sketch_diff.h"
#include "diagnose/explain/explain_internal.h"
#include "diagnose/explain/operations_internal.h"

// A program that does all that another one does, and more: least share of the other's operations,
// and least size in terms of the other's.
#define ALL_OPERATIONS_MIN  0.95
#define MORE_OPERATIONS_MIN 1.1

static bool makes_sizes(const rk_explained *item) {
    for (size_t i = 0; i < item->differences.count; i++)
        if (item->differences.items[i].kind == RK_DIFFERENCE_SHAPE &&
            item->differences.items[i].file) // not a view of a gradient
            return true;
    return false;
}

// Returns whether only the position of a slice moves. A new size of the slice is a changed shape.
static bool moves_slice(const rk_explained *item) {
    bool moves = false;
    for (size_t i = 0; i < item->differences.count; i++) {
        const rk_difference *d = &item->differences.items[i];
        if (d->kind == RK_DIFFERENCE_SHAPE)
            return false;
        moves |= d->kind == RK_DIFFERENCE_ATTRIBUTE && d->op && d->attribute &&
                 strcmp(d->op, "stablehlo.slice") == 0 &&
                 strcmp(d->attribute, "start_indices") == 0;
    }
    return moves;
}

static const char *constant_advice(const rk_explained *item, bool torch) {
    const rk_difference *head = rk_explained_head(item);
    if (head && rk_is_sketchy(head))
        return "REKINDLE_KEEP_PROGRAMS=1 keeps the programs of later runs, and then the difference "
               "is shown.";
    if (!torch && head && head->kind == RK_DIFFERENCE_ATTRIBUTE && moves_slice(item))
        return "A Python number is the position of a slice of fixed size: use "
               "jax.lax.dynamic_slice, with the position as an array argument of the jitted "
               "function; or slice a NumPy array before its transfer to the device.";
    // A number that decides the sizes of operations cannot be traced.
    bool is_size = head && (head->kind != RK_DIFFERENCE_CONSTANT || makes_sizes(item));
    if (is_size)
        return "A number from Python makes the sizes inside this program: round it up to one upper "
               "bound, or to a few fixed sizes (buckets), and mask the rest.";
    return torch ? "A Python number is part of the graph: make it a tensor on the device "
                   "(register_buffer, or torch.tensor(value, device=…)), updated in place."
                 : "A Python number is part of the program: pass it as an argument of the jitted "
                   "function (jnp.asarray(value)), not through static_argnums or a closure.";
}

// Returns whether only the weak type of a value differs, which JAX gives to Python numbers.
static bool is_weak_type(const rk_explained *item) {
    static const char weak[] = "weakly typed ";
    const size_t len = sizeof weak - 1;
    const rk_difference *head = rk_explained_head(item);
    if (!head || !head->before || !head->after)
        return false;
    return (strncmp(head->before, weak, len) == 0 &&
            strcmp(head->before + len, head->after) == 0) ||
           (strncmp(head->after, weak, len) == 0 && strcmp(head->after + len, head->before) == 0);
}

static const char *dtype_advice(const rk_explained *item, bool torch) {
    if (is_weak_type(item))
        return "One of the two values is weakly typed (weak_type), because it was made from a "
               "Python number without a dtype; an update, for example, then gives it its type. "
               "Give it a dtype where it is made: jnp.array(1.0, jnp.float32), not jnp.array(1.0) "
               "or 1.0. If a library makes it, give it its dtype before the first step: "
               "jnp.asarray(x, dtype=x.dtype).";
    return torch ? "Cast to one dtype before the step, and keep autocast on or off throughout."
                 : "Cast to one dtype before the call (x.astype(…)); beware of NumPy's float64 "
                   "and of Python scalars that change their type.";
}

// True for the type of a tensor with one element: "tensor<s64>", "tensor<1xf32>".
static bool is_single_value(const char *type) {
    static const char prefix[] = "tensor<";
    if (!type || strncmp(type, prefix, sizeof prefix - 1) != 0)
        return false;
    type += sizeof prefix - 1;
    while (strncmp(type, "1x", 2) == 0)
        type += 2;
    return *type < '0' || *type > '9';
}

// Returns whether all that differs is an input of one value, which the program adds to something:
// a sum over the batches of a loop, whose first step had a number in place of the input.
static bool begins_sum(const rk_explained *item) {
    const rk_difference *head = rk_explained_head(item);
    bool adds = false;
    if (item->differences.cause_count != 1 || head->kind != RK_DIFFERENCE_PARAMETER_ADDED ||
        !item->nearest_of || !is_single_value(head->after))
        return false;
    for (size_t i = 1; i < item->differences.count; i++) {
        const rk_difference *d = &item->differences.items[i];
        adds |= d->op && strcmp(d->op, "hlo.add") == 0 && d->line == head->line;
    }
    return adds;
}

// Returns whether the later program has all operations of the earlier one and many others, and
// returns more: a part of the step that only some steps take.
static bool does_more(const rk_explained *item) {
    bool returns_more = false;
    if (!item->nearest_of || !item->nearest || !item->nearest->has_sketch ||
        !item->program->has_sketch)
        return false;
    const rk_sketch *a = &item->nearest->sketch, *b = &item->program->sketch;
    for (size_t i = 0; i < item->differences.count; i++) {
        const rk_difference *d = &item->differences.items[i];
        if (d->kind == RK_DIFFERENCE_PARAMETER_REMOVED)
            return false;
        returns_more |=
            d->kind == RK_DIFFERENCE_PARAMETER_ADDED && d->op && strcmp(d->op, "result") == 0;
    }
    return returns_more && (double)b->op_count >= MORE_OPERATIONS_MIN * (double)a->op_count &&
           rk_contained_operations(a, b) >= ALL_OPERATIONS_MIN;
}

static bool has_mask(const rk_explained *item) {
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const char *name = item->differences.items[i].attribute;
        if (name && strstr(name, "mask"))
            return true;
    }
    return false;
}

static const char *parameters_advice(const rk_explained *item, bool torch) {
    if (item->is_startup)
        return "The first call creates these values, such as an optimizer's state, and every later "
               "call takes them: two programs, compiled and stored once. This belongs to the start "
               "of the job, and there is nothing to mend.";
    if (item->accumulates)
        return torch ? "Gradients are created in one step and accumulated in the next: "
                       "optimizer.zero_grad(set_to_none=False), or one compiled region around the "
                       "whole accumulation."
                     : "Start from gradients of zeros (jax.tree.map(jnp.zeros_like, params)) "
                       "instead of None, or accumulate within one jitted function (lax.scan).";
    if (torch && begins_sum(item))
        return "A sum over several steps starts from a Python number, or from zeros that are made "
               "on the device; both are constants of the first step's graph, and all later steps "
               "have an input instead. Start the sum with one element that is transferred to the "
               "device: torch.zeros(1, dtype=…).to(device).";
    if (does_more(item))
        return torch
                   ? "The later program does all that the earlier one does, and more: a branch "
                     "in Python that only some steps take. If that is meant, there is nothing to "
                     "mend: each is compiled once and stored. Otherwise do the same in each step, "
                     "and select between the results (torch.where)."
                   : "The later program does all that the earlier one does, and more: a branch "
                     "in Python that only some calls take. If that is meant, there is nothing to "
                     "mend: each is compiled once and stored. Otherwise do the same in each call, "
                     "and select between the results (jnp.where, lax.cond).";
    if (has_mask(item))
        return "Inputs or results come and go: always pass all of them, with neutral values where "
               "there are none (a mask of ones), and always return the same.";
    return torch ? "An input is there in one program and not in the other: always pass it, with a "
                   "neutral value where there is none."
                 : "Inputs or results come and go: always pass all of them, with neutral values "
                   "where there are none, and always return the same.";
}

static bool is_none(const char *text) {
    return !text || strcmp(text, "none") == 0;
}

// Returns whether only one of the two programs has a sharding for an input.
static bool is_committed_once(const rk_explained *item) {
    const rk_difference *head = rk_explained_head(item);
    return head && head->kind == RK_DIFFERENCE_SHARDING && head->op &&
           strcmp(head->op, "parameter") == 0 && is_none(head->before) != is_none(head->after);
}

static const char *sharding_advice(const rk_explained *item, bool torch) {
    if (torch)
        return "Mark the sharding of this tensor once, at the start (xs.mark_sharding), the same "
               "in every run.";
    if (is_committed_once(item))
        return "In one program this array is committed to its devices, and in the other it is not. "
               "Committed are a restored checkpoint, the result of jax.device_put with a sharding, "
               "and what is computed from them; a fresh jnp array is not. Place it once, before "
               "the first step: jax.device_put(state, sharding), after the initialization or the "
               "restore.";
    return "Give this array one sharding (jax.device_put with a NamedSharding, or in_shardings), "
           "the same at every call.";
}

static const char *structure_advice(const rk_explained *item, bool torch) {
    if (!item->nearest_of)
        return "The source, or a setting that it reads, has changed since that run: it compiles "
               "once, and is kept.";
    return torch ? "A branch in Python decides what is traced: compute both ways and select with "
                   "torch.where, or make the choice outside of the step."
                 : "A branch in Python, or a static argument, decides what is traced: use lax.cond "
                   "or jnp.where, or make the choice once, outside of the loop.";
}

static const char *failed_advice(const rk_explained *item) {
    if (strstr(item->compile->error, "No FFI handler registered"))
        return "The plugin has no such function, with or without rekindle. xla-cpu-pjrt, for "
               "example, has no LAPACK (lapack_…), which decompositions (jnp.linalg) and "
               "orthogonal initializers need: use another initializer or algorithm, or another "
               "plugin.";
    return "The compiler refused this program, so there is nothing to store: the error comes "
           "from the compiler, and the framework raised it at this call.";
}

static const char *advice_for(const rk_run_model *run, const rk_explained *item) {
    bool torch = rk_explained_is_torch(item);
    switch (item->cause) {
    case RK_CAUSE_SHAPE:
        return rk_advice_on_shape(run, item);
    case RK_CAUSE_DTYPE:
        return dtype_advice(item, torch);
    case RK_CAUSE_CONSTANT:
        return constant_advice(item, torch);
    case RK_CAUSE_STRUCTURE:
        return structure_advice(item, torch);
    case RK_CAUSE_PARAMETERS:
        return parameters_advice(item, torch);
    case RK_CAUSE_SHARDING:
        return sharding_advice(item, torch);
    case RK_CAUSE_OPTIONS:
        return "Use the same compile options at every call and in every run.";
    case RK_CAUSE_ENVIRONMENT:
        return "Pin flags and variables: set them in one place for all runs of the job; what does "
               "not change the code can be left out of the key with REKINDLE_KEY_IGNORE.";
    case RK_CAUSE_TOOLCHAIN:
        return "Another version compiles everything once: pin the versions, or fill the store "
               "before the job starts.";
    case RK_CAUSE_DEVICE:
        return "Another machine or another set of devices compiles everything once: use the same "
               "kind and number of them.";
    case RK_CAUSE_DUPLICATE:
        if (item->is_eager)
            return "This is a single operation outside of any jitted function, which the framework "
                   "requested again: after jax.clear_caches(), or for a value that is of another "
                   "kind (weakly typed, committed) but has the same program. In a jitted function "
                   "it is no program of its own.";
        return torch ? "The framework had lost this program: raise its cache size "
                       "(XLA_COMPILATION_CACHE_SIZE), and make graphs that can be told to be the "
                       "same."
                     : "The framework had lost this program: jit once, outside of the loop, not a "
                       "new lambda, closure or functools.partial at each call; do not clear JAX's "
                       "caches.";
    case RK_CAUSE_EVICTED:
        return item->removal == RK_REMOVAL_COLLECTED
                   ? "`rekindle gc` removed it: give gc a larger size, or keep the entry with "
                     "`rekindle pin`."
                   : "It was evicted to keep the store below its limit: raise REKINDLE_MAX_SIZE, "
                     "or keep the entry with `rekindle pin`.";
    case RK_CAUSE_REMOVED:
        return item->removal == RK_REMOVAL_BY_HAND
                   ? "Somebody removed it with `rekindle rm`. It is stored again now."
                   : "It was stored, and rekindle has no record that it evicted it: somebody or "
                     "another program removed the file. It is stored again now.";
    case RK_CAUSE_DAMAGED:
        return "The entry could not be used and was replaced: `rekindle fsck` checks the others.";
    case RK_CAUSE_UNCACHEABLE:
        if (item->was_lost)
            return "It was compiled before and not stored: the process ended during the write, "
                   "by os._exit or a signal. Let it exit normally, or keep it alive for a moment; "
                   "without that, later starts try again.";
        return item->compile->outcome == RK_OUTCOME_BYPASS
                   ? "It is compiled at every start: take callbacks and debugging prints out of "
                     "it, or "
                     "move them into a function of their own."
                   : "It was compiled before and not stored: see `rekindle stats` of that run, "
                     "REKINDLE_MODE and REKINDLE_MIN_COMPILE_SECONDS.";
    case RK_CAUSE_FAILED:
        return failed_advice(item);
    case RK_CAUSE_FIRST:
    case RK_CAUSE_COUNT:
        break;
    }
    return NULL;
}

// Names the package that binds the program to its process: the user's own code holds nothing to
// take out.
static void add_package(const rk_explained *item, rk_buf *text) {
    rk_buf_add_format(text, " The callback comes from the package %s, which this line calls.",
                      item->package);
    if (strcmp(item->package, "equinox") == 0)
        rk_buf_add_text(text, " EQX_ON_ERROR=nan removes the callbacks of Equinox's checks: a "
                              "failed check then gives NaN instead of an error.");
}

// The name of the operation without "jit_", as far as the user's source may have it: "normal".
static const char *operation_name(const rk_sketch *sketch) {
    const char *name = sketch->module;
    if (strncmp(name, "jit_", 4) == 0)
        name += 4;
    return name + strspn(name, "_");
}

// An operation of the framework compiles by itself: there is no jitted function to pass a number
// to, and nothing inside that the user could round up. What the user can change is the call.
static void advise_on_operation(const rk_explained *item, rk_buf *text) {
    const rk_sketch *sketch = &item->program->sketch;
    rk_span file = rk_span_text(sketch->call.file ? sketch->call.file : "");
    rk_span package = rk_source_package(file);
    const rk_difference *head = rk_explained_head(item);
    const char *what = head && head->kind == RK_DIFFERENCE_CONSTANT ? "number" : "size";
    const char *name = operation_name(sketch);
    if (!file.len) {
        rk_buf_add_format(text,
                          "The operation %s runs outside of any jitted function, each time with "
                          "another %s. Which line calls it is not known.",
                          name, what);
    } else if (package.len) {
        rk_buf_add_format(text,
                          "The package %.*s calls %s outside of any jitted function, each time "
                          "with another %s. Your source can only change what it passes to the "
                          "package.",
                          (int)package.len, (const char *)package.data, name, what);
    } else {
        const char *slash = strrchr(sketch->call.file, '/');
        rk_buf_add_format(text,
                          "Line %u of %s calls %s outside of any jitted function, each time with "
                          "another %s, and each one is a program of its own: move the call into a "
                          "jitted function",
                          sketch->call.line, slash ? slash + 1 : sketch->call.file, name, what);
        rk_buf_add_text(text, head && head->kind == RK_DIFFERENCE_CONSTANT
                                  ? " that takes the number as an array (jnp.asarray(value))."
                                  : ", or call it with one size and use a part of the result.");
    }
}

// A value that is made anew on the device (zeros before an inner loop) is a constant of the first
// program that uses it. Later programs take the result of the first one as an input.
static void advise_on_constant(const rk_explained *item, rk_buf *text) {
    const rk_difference *head = rk_explained_head(item);
    const char *slash = head->constant_file ? strrchr(head->constant_file, '/') : NULL;
    bool torch = rk_explained_is_torch(item);
    rk_buf_add_text(text, item->differences.cause_count > 1
                              ? "These values are constants in one program and inputs"
                              : "This value is a constant in one program and an input");
    rk_buf_add_format(text, " in the other. The constant (%s) comes from ", head->constant);
    if (head->constant_file)
        rk_buf_add_format(text, "line %u of %s", head->constant_line,
                          slash ? slash + 1 : head->constant_file);
    else
        rk_buf_add_text(text, "a line that is not known");
    rk_buf_add_text(
        text, torch ? ", such as zeros that are made on the device before an inner loop. Make it "
                      "an input of each step: create it with at least one dimension on the host "
                      "and transfer it (torch.zeros(1, dtype=…).to(device)), or call "
                      "torch_xla.sync() right after it is created. zero_() makes it a constant "
                      "again."
                    : ". Pass it as an argument of the same type at every call.");
}

rk_err *rk_advise(const rk_run_model *run, rk_explained *item) {
    const char *advice = advice_for(run, item);
    if (!advice)
        return NULL;
    RK_AUTO(rk_buf) text = {0};
    const rk_difference *head = rk_explained_head(item);
    bool is_operation =
        item->is_eager && item->cause == RK_CAUSE_CONSTANT && !(head && rk_is_sketchy(head));
    if (is_operation)
        advise_on_operation(item, &text);
    else if (rk_explained_is_constant(item) && !item->is_startup && !item->accumulates)
        advise_on_constant(item, &text);
    else
        rk_buf_add_text(&text, advice);
    if (item->failed_before)
        rk_buf_add_text(&text, " It failed in an earlier run, too.");
    if (item->package)
        add_package(item, &text);
    RK_TRY(rk_buf_status(&text));
    item->advice = rk_strdup(rk_buf_text(&text));
    return item->advice ? NULL : rk_err_no_memory();
}
