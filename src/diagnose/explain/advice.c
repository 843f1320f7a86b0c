// Advice on a compilation, in the terms of the framework that requested it.
#include "base/alloc.h"
#include "diagnose/diff/sketch_diff.h"
#include "diagnose/explain/advice_internal.h"
#include "diagnose/explain/operations_internal.h"

// Returns whether `weak` is `full`, but weakly typed. JAX gives this type to Python numbers.
static bool is_weak_of(const char *weak, const char *full) {
    static const char prefix[] = RK_WEAKLY_TYPED;
    const size_t len = sizeof prefix - 1;
    return weak && full && strncmp(weak, prefix, len) == 0 && strcmp(weak + len, full) == 0;
}

// Returns whether an input may be a Python number: PyTorch/XLA gives these 64 bits.
static bool is_python_number(const char *type) {
    return type && (strcmp(type, "tensor<f64>") == 0 || strcmp(type, "tensor<s64>") == 0);
}

static const char *dtype_advice(const rk_explained *item, bool torch) {
    const rk_difference *head = rk_explained_head(item);
    if (head && is_weak_of(head->before, head->after))
        return "The earlier value is weakly typed (weak_type): it was made from a Python number "
               "without a dtype. A later operation, such as an update, returns it with a "
               "full type, so the next call compiles again. Give it the full type before the first "
               "call, also if a library made it: jnp.asarray(x, dtype=jnp.float32), with the dtype "
               "that is shown. Do the same with each input that the function returns with another "
               "weak_type; the program does not show all of them.";
    if (head && is_weak_of(head->after, head->before))
        return "The later value is weakly typed (weak_type): it is a Python number, or was "
               "computed from Python numbers only, such as jnp.where(done, 1.0, 0.0). Give it a "
               "dtype where it is made (jnp.asarray(x, dtype=jnp.float32)). If a library computes "
               "it, there is nothing to fix: each program is compiled once and stored.";
    if (torch && head && is_python_number(head->before) != is_python_number(head->after))
        return "PyTorch/XLA passes a Python number as tensor<f64> or tensor<s64>. Perhaps a Python "
               "number was in the place of a tensor, such as the first value of a minimum that "
               "later is a tensor. Make it a tensor of the same dtype from the beginning "
               "(torch.tensor(value, dtype=…)), or use numbers that were read (.item()).";
    return torch ? "If both types are intended, such as autocast in training only, there is "
                   "nothing to fix: each graph is compiled once and stored. Otherwise cast to one "
                   "dtype before the step, and keep autocast on or off throughout."
                 : "Cast to one dtype before the call (x.astype(…)); beware of NumPy's float64 "
                   "and of Python scalars that change their type.";
}

static bool is_none(const char *text) {
    return !text || strcmp(text, "none") == 0;
}

// Returns the first difference if it is the sharding of an input; NULL if it is not.
static const rk_difference *sharding_of_input(const rk_explained *item) {
    const rk_difference *head = rk_explained_head(item);
    return head && head->kind == RK_DIFFERENCE_SHARDING && rk_is_of_input(head) ? head : NULL;
}

// Returns whether only one of the two programs has a sharding for an input.
static bool is_committed_once(const rk_explained *item) {
    const rk_difference *d = sharding_of_input(item);
    return d && is_none(d->before) != is_none(d->after);
}

// Returns whether an input was made outside of a mesh in one of the two programs only.
static bool is_in_mesh_once(const rk_explained *item) {
    const rk_difference *d = sharding_of_input(item);
    return d && !is_none(d->before) && !is_none(d->after) &&
           (strcmp(d->before, RK_NO_MESH) == 0) != (strcmp(d->after, RK_NO_MESH) == 0);
}

static const char *sharding_advice(const rk_explained *item, bool torch) {
    if (torch)
        return "Mark the sharding of this tensor once, at the start (xs.mark_sharding), the same "
               "in every run.";
    if (is_in_mesh_once(item))
        return "In one program this array has no mesh: it was made outside of jax.set_mesh, such "
               "as a key of random numbers. If the jitted function returns it, it then has the "
               "mesh, and the next call compiles again. Make it within jax.set_mesh, before the "
               "first step.";
    if (is_committed_once(item))
        return "In one program this array is committed to its devices, and in the other it is not. "
               "A restored checkpoint, the result of jax.device_put with a sharding, and what is "
               "computed from them are committed; a new jnp array is not. If your source makes "
               "it, place it once, before the first step: jax.device_put(state, sharding), after "
               "the initialization or the restore. If a library makes it, there is nothing to "
               "fix: each program is compiled once and stored.";
    return "If your source makes this array, give it the same sharding at every call "
           "(jax.device_put with a NamedSharding, or in_shardings). If a library makes it, there "
           "is nothing to fix: each program is compiled once and stored.";
}

bool rk_explain_has_other_views(const rk_explained *item) {
    return rk_explained_is_torch(item) && item->cause == RK_CAUSE_STRUCTURE && item->nearest_of &&
           item->program && item->nearest && item->program->has_sketch &&
           item->nearest->has_sketch &&
           item->program->sketch.structure != item->nearest->sketch.structure &&
           rk_same_operations(&item->program->sketch, &item->nearest->sketch);
}

// Returns whether two graphs have operations of the same kinds, on the same lines of the source.
static bool is_of_same_kinds(const rk_explained *item) {
    if (!item->program || !item->nearest || !item->program->has_sketch ||
        !item->nearest->has_sketch || !item->program->sketch.line_count)
        return false;
    return rk_have_same_kinds_and_lines(&item->nearest->sketch, &item->program->sketch);
}

static const char *structure_advice(const rk_explained *item, bool torch) {
    if (rk_explain_is_reordered(item) && item->nearest_of)
        return "The operations are the same, in another order or with other operands, and why is "
               "not known. The order of gradients may change during a run if gradients of "
               "gradients are computed (create_graph=True), and two numbers that happen to be "
               "equal are one input of the graph. Then there is nothing to fix: each program is "
               "compiled once and stored.";
    if (rk_explain_is_reordered(item))
        return torch ? "The operations are the same, in another order or with other operands. If "
                       "nobody changed the source since that run, it may loop over a set: each "
                       "Python process may have another order. PYTHONHASHSEED=0 in the environment "
                       "of the job keeps it if the set holds strings; use a list in place of a "
                       "set of tensors or other objects. Or two numbers that were read are equal "
                       "in one of the two runs only: PyTorch/XLA passes them as one input."
                     : "The operations are the same, in another order or with other operands. If "
                       "nobody changed the source since that run, it may loop over a set: each "
                       "Python process may have another order. PYTHONHASHSEED=0 in the environment "
                       "of the job keeps it if the set holds strings; use a list in place of a "
                       "set of other objects.";
    if (rk_explain_has_other_views(item))
        return "The two graphs have the same operations but for transposes, reshapes and "
               "broadcasts: PyTorch/XLA records a view of a tensor once or twice; or a number is "
               "0 or 1 in one of them, and so a constant; or tensors were copied before the step "
               "(load_state_dict), and nothing executed the copies. Each graph is compiled once "
               "and stored. If there are such copies, call torch_xla.sync() after them. If a "
               "Python number decides, a tensor with one dimension that is transferred from the "
               "host in its place (torch.tensor([value]).to(device)) makes them one graph. "
               "Otherwise the reason is not known.";
    if (!item->nearest_of && !rk_explain_is_of_seed(item))
        return torch ? "Perhaps the source, a setting that it reads, a value that decides a branch "
                       "or a loop in Python, or numbers that are equal, 0 or 1 are other ones than "
                       "in that run; or that run did not come to this part of the job; or data or "
                       "random numbers decide. The new program is compiled once and stored."
                     : "Perhaps the source, a setting that it reads, or a value that decides a "
                       "branch or a loop in Python, is another one than in that run; or that run "
                       "did not come to this part of the job. The new program is compiled once and "
                       "stored.";
    const rk_difference *head = rk_explained_head(item);
    bool is_slice = torch && head && rk_is_of_slice(head) && !rk_has_more_rounds(item);
    if (is_slice && rk_explain_moves_slice_first(item))
        return rk_advice_on_position(item);
    if (is_slice) // another size, and operations that follow from it
        return rk_advice_on_sizes(torch);
    if (rk_explain_is_of_seed(item) && !item->nearest_of)
        return "The graphs only differ in the computation of one integer, such as the state of the "
               "random numbers. Perhaps this start draws more or fewer random values than that run "
               "before the graph is executed. The new program is compiled once and stored.";
    if (rk_explain_is_of_seed(item) && item->step == 0)
        return "The graphs only differ in the computation of one integer, the state of the random "
               "numbers: random initial values are computed in the graph that uses them first. "
               "Call torch_xla.sync() after the initialization, before the first step. Then the "
               "first step has the same graphs as the others.";
    if (rk_explain_is_of_seed(item))
        return "The graphs only differ in the computation of one integer, such as the state of the "
               "random numbers. Then a random operation (a sample, an augmentation) is "
               "computed with the graph that is executed next. If it is between two steps, call "
               "torch_xla.sync() after it. If it is within a step, such as between two checks of a "
               "library, or if this is intended, there is nothing to fix: each graph is compiled "
               "once and stored.";
    if (torch && is_of_same_kinds(item))
        return "The operations are of the same kinds, on the same lines, but not of the same "
               "number or order. Perhaps a loop in Python runs for another number of elements, "
               "such as the rows of a smaller last batch, or a branch within one line decides. "
               "Each graph is compiled once and stored. If a smaller batch is the reason, drop it "
               "or pad it.";
    return torch ? "The two graphs have other operations. If they are two parts of the job, such "
                   "as training and evaluation, there is nothing to fix: each is compiled once and "
                   "stored. If they are meant to be one step, perhaps a branch or a number in "
                   "Python decides what is traced: compute both ways and select with torch.where, "
                   "or make the choice outside of the step. Or operations that were recorded "
                   "before and not executed are a part of one graph: call torch_xla.sync() after "
                   "them."
                 : "The two programs have other operations. If they are two functions of one name, "
                   "or both ways are intended, such as training and evaluation, there is nothing "
                   "to fix: each is compiled once and stored. If they are meant to be one, perhaps "
                   "a branch in Python, a static argument or a static field of an object decides "
                   "what is traced: use lax.cond or jnp.where, or make the choice once, outside of "
                   "the loop. If a loop in Python has another number of iterations, lax.scan or "
                   "lax.fori_loop compiles its body once.";
}

static const char *failed_advice(const rk_explained *item) {
    if (strstr(item->compile->error, "No FFI handler registered"))
        return strstr(item->compile->error, "lapack")
                   ? "The plugin has no such function, with or without rekindle. xla-cpu-pjrt, for "
                     "example, has no LAPACK (lapack_…), which decompositions (jnp.linalg) and "
                     "orthogonal initializers need: use another initializer or algorithm, or "
                     "another plugin."
                   : "The plugin has no such function, with or without rekindle: use another "
                     "function, or another plugin.";
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
        return rk_advice_on_constant(item, torch);
    case RK_CAUSE_STRUCTURE:
        return structure_advice(item, torch);
    case RK_CAUSE_PARAMETERS:
        return rk_advice_on_inputs(item);
    case RK_CAUSE_SHARDING:
        return sharding_advice(item, torch);
    case RK_CAUSE_OPTIONS:
        return "Use the same compile options at every call and in every run.";
    case RK_CAUSE_ENVIRONMENT:
        return "Set flags and variables in one place for all runs of the job. If one of them does "
               "not change the generated code, REKINDLE_KEY_IGNORE leaves it out of the key.";
    case RK_CAUSE_TOOLCHAIN:
        return "After a change of version, every program is compiled again, once: pin the "
               "versions, or fill the store before the job starts.";
    case RK_CAUSE_DEVICE:
        return "On another kind of machine, or with other devices, every program is compiled "
               "again, once: use the same kind of machine, and the same kind and number of "
               "devices.";
    case RK_CAUSE_DUPLICATE:
        if (item->is_eager)
            return "This is a single operation outside of any jitted function. The framework "
                   "requested its program again: after jax.clear_caches(), or for a value of "
                   "another kind (weakly typed, committed) that has the same program. Inside a "
                   "jitted function, the operation has no program of its own.";
        return torch ? "Either PyTorch/XLA had lost this program: then raise its cache size "
                       "(XLA_COMPILATION_CACHE_SIZE). Or two graphs of PyTorch/XLA become one "
                       "program: then there is nothing to fix."
                     : "The framework had lost this program, or traced it for another function, "
                       "such as the function of a new model, for an object with another static "
                       "field (a new optimizer in a TrainState), or for another shape of an "
                       "argument that the program does not use. Jit one function once, outside of "
                       "the loop; reuse the object; leave unused arguments out. Do not jit a new "
                       "lambda, closure or functools.partial at each call, and do not clear JAX's "
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
                   : "The executable was stored, and rekindle has no record of its eviction: "
                     "somebody or another program removed the file. It is stored again now.";
    case RK_CAUSE_DAMAGED:
        return "The entry could not be used and was replaced: `rekindle fsck` checks the others.";
    case RK_CAUSE_UNCACHEABLE:
        if (item->was_lost)
            return "The program was compiled before and not stored: the process ended during the "
                   "write, by os._exit or a signal. Let the process exit normally, or keep it "
                   "alive for a moment. Otherwise later starts compile the program again.";
        if (item->compile->failed && !strstr(item->compile->error, "callback"))
            return failed_advice(item);
        if (item->compile->failed)
            return "This plugin has no host callbacks, with or without rekindle: take callbacks "
                   "and debugging prints out of the program, or use another plugin. A plugin that "
                   "has them compiles such a program at every start.";
        return item->compile->outcome == RK_OUTCOME_BYPASS
                   ? "It is compiled at every start: take callbacks and debugging prints out of "
                     "it, or move them into a function of their own."
                   : "It was compiled before and not stored: see `rekindle stats` of that run, and "
                     "check REKINDLE_MODE and REKINDLE_MIN_COMPILE_SECONDS.";
    case RK_CAUSE_FAILED:
        return failed_advice(item);
    case RK_CAUSE_FIRST:
    case RK_CAUSE_COUNT:
        break;
    }
    return NULL;
}

// Names the package that binds the program to its process, because the user's own code contains
// nothing that could be removed.
static void add_package(const rk_explained *item, rk_buf *text) {
    rk_buf_add_format(text, " The callback comes from the package %s, which this line calls.",
                      item->package);
    if (strcmp(item->package, "equinox") == 0)
        rk_buf_add_text(text, " EQX_ON_ERROR=nan removes the callbacks of Equinox's checks: a "
                              "failed check then gives NaN instead of an error.");
    if (strcmp(item->package, "numpyro") == 0)
        rk_buf_add_text(text, " progress_bar=False removes NumPyro's progress bar.");
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
    rk_span package = rk_source_package(file), called = rk_package_of_head(item);
    const rk_difference *head = rk_explained_head(item);
    bool is_number = head && head->kind == RK_DIFFERENCE_CONSTANT, moves = rk_moves_slice(item);
    const char *what = is_number ? "number" : moves ? "position" : "size";
    const char *name = operation_name(sketch);
    const char *slash = file.len ? strrchr(sketch->call.file, '/') : NULL;
    const char *base = slash ? slash + 1 : sketch->call.file;
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
    } else if (called.len) {
        rk_buf_add_format(text,
                          "Line %u of %s calls the package %.*s, which runs %s as a program of its "
                          "own, each time with another %s: put this call, and a loop around it, "
                          "into one jitted function. If it is in one already, the package "
                          "calculates these values while JAX traces that function, and there is "
                          "nothing to fix: each program is compiled once and stored.",
                          sketch->call.line, base, (int)called.len, (const char *)called.data, name,
                          what);
    } else {
        rk_buf_add_format(text,
                          "Line %u of %s calls %s outside of any jitted function, each time with "
                          "another %s, and each one is a program of its own: ",
                          sketch->call.line, base, name, what);
        rk_buf_add_text(
            text, is_number ? "move the call into a jitted function that takes the number as an "
                              "array (jnp.asarray(value))."
                  : moves   ? "move the call into a jitted function. An array of numbers that no "
                              "transformation (jax.vmap, jax.grad) traces can be indexed in NumPy "
                              "instead (np.asarray), which compiles nothing."
                            : "put the whole loop that makes these sizes into one jitted function, "
                              "or call the operation with one size and use a part of the result.");
    }
}

static void advise_on_own_call(const rk_explained *item, rk_buf *text) {
    const char *what = item->cause == RK_CAUSE_SHAPE        ? "the same shapes"
                       : item->cause == RK_CAUSE_PARAMETERS ? "the same inputs"
                                                            : "the same settings and numbers";
    rk_buf_add_format(
        text,
        "Two lines of the source call this function, or call two functions of this name. Each line "
        "has programs of its own, as with training and evaluation. They are compiled once and "
        "stored. If this is intended, there is nothing to fix; otherwise pass %s on both lines.",
        what);
}

// A refused compilation usually ends the job.
static void advise_on_refusal(rk_buf *text) {
    rk_buf_add_format(text,
                      "%sREKINDLE_STRICT=fail refused this compilation. If the job needs it, let "
                      "warm-up end later (REKINDLE_WARMUP), or start the job once with "
                      "REKINDLE_STRICT=warn: strict mode loads stored programs, if each start "
                      "requests the same ones.",
                      text->len ? " " : "");
}

// Returns whether each input that only one program has is a constant in the other one. Sizes and
// numbers may differ, too.
static bool has_constant_input(const rk_explained *item) {
    const rk_difference *head = rk_explained_head(item);
    for (size_t i = 0; i < item->differences.cause_count; i++) {
        const rk_difference *d = &item->differences.items[i];
        if (!d->constant && d->kind != RK_DIFFERENCE_SHAPE && d->kind != RK_DIFFERENCE_CONSTANT &&
            !rk_is_of_slice(d))
            return false;
    }
    return item->cause == RK_CAUSE_PARAMETERS && head && head->constant;
}

// Says that the advice on the inputs is not all that there is to do.
static void add_other_differences(const rk_explained *item, rk_buf *text) {
    for (size_t i = 0; i < item->differences.cause_count; i++)
        if (!item->differences.items[i].constant) {
            rk_buf_add_text(text, " The other differences remain: this change alone does not make "
                                  "them one program.");
            return;
        }
}

rk_err *rk_advise(const rk_run_model *run, rk_explained *item) {
    const char *advice = advice_for(run, item);
    if (!advice && !item->compile->refused)
        return NULL;
    RK_AUTO(rk_buf) text = {0};
    const rk_difference *head = rk_explained_head(item);
    bool is_operation =
        item->is_eager && item->cause == RK_CAUSE_CONSTANT && !(head && rk_is_sketchy(head));
    bool is_constant = (has_constant_input(item) || rk_explain_has_special_number(item)) &&
                       !item->is_startup && !item->accumulates;
    if (is_operation)
        advise_on_operation(item, &text);
    else if (item->is_own_call)
        advise_on_own_call(item, &text);
    else if (rk_is_position_of_package(item))
        rk_advise_on_position_of_package(item, &text);
    else if (is_constant)
        rk_advise_on_constant_input(item, &text);
    else
        rk_buf_add_text(&text, advice ? advice : "");
    if (is_constant && !item->is_own_call && !is_operation)
        add_other_differences(item, &text);
    if (item->failed_before)
        rk_buf_add_text(&text, " It failed in an earlier run, too.");
    if (item->package)
        add_package(item, &text);
    if (item->compile->refused)
        advise_on_refusal(&text);
    RK_TRY(rk_buf_status(&text));
    item->advice = rk_strdup(rk_buf_text(&text));
    return item->advice ? NULL : rk_err_no_memory();
}
