// What to do about a start that compiles operation by operation.

#include "diagnose/explain/operations_internal.h"
#include "diagnose/explain/patterns_internal.h"
#include "diagnose/explain/startup_internal.h"

// Libraries that make initial values, and how to make them with one program. The first of them that
// a stack has decides: a model of Keras may run on another library.
static const struct library {
    const char *package, *module; // `module`: a part of the file's path; NULL: any
    const char *function;         // a part of the function's name; NULL: any
    const char *jit;              // for a function that returns a model
    const char *remedy;           // NULL: the library has none
} libraries[] = {
    {"keras", NULL, NULL, NULL, NULL},
    {"flax", "/flax/linen/", NULL, "jax.jit", "With Flax: jax.jit(model.init)(…)."},
    {"flax", "/flax/nnx/", NULL, "nnx.jit",
     "With Flax NNX: nnx.jit on the function that makes the model, if its arrays are variables "
     "(nnx.Param)."},
    {"equinox", NULL, NULL, "eqx.filter_jit",
     "With Equinox: eqx.filter_jit on the function that makes the model."},
    {"optax", NULL, "init", "jax.jit", "With Optax: jax.jit(tx.init)(params)."},
    {"haiku", NULL, NULL, "jax.jit", "With Haiku: jax.jit(net.init)(…)."},
};

// Returns whether the library's own jit takes objects and arguments that are not arrays.
static bool takes_objects(const struct library *library) {
    return library && library->jit && strcmp(library->jit, "jax.jit") != 0;
}

static bool has_library(const rk_stack *stack, const struct library *library) {
    for (size_t i = 0; i < stack->count; i++)
        if (rk_span_is(rk_source_package(rk_span_text(stack->frames[i].file)), library->package) &&
            (!library->module || strstr(stack->frames[i].file, library->module)) &&
            (!library->function ||
             (stack->frames[i].function && strstr(stack->frames[i].function, library->function))))
            return true;
    return false;
}

const char *rk_jit_for(const rk_stack *stack) {
    for (size_t k = 0; k < RK_ARRAY_LEN(libraries); k++)
        if (libraries[k].jit && has_library(stack, &libraries[k]))
            return libraries[k].jit;
    return "jax.jit";
}

// The library that most of the operations come from; NULL if there is none, or if it is not known:
// JAX leaves frames of its own and of some libraries out.
static const struct library *library_of(const rk_startup_group *g) {
    const struct library *best = NULL;
    size_t most = g->count / 2;
    for (size_t k = 0; k < RK_ARRAY_LEN(libraries); k++) {
        size_t count = 0;
        for (size_t i = 0; i < g->count; i++)
            count += has_library(&g->items[i]->stack, &libraries[k]);
        if (count <= most)
            continue;
        most = count;
        best = &libraries[k];
    }
    return best;
}

// Returns whether the process executed each small program once or twice, and most of them once, so
// that hardly any layers share them. False if the executions of one of them are not known.
static bool are_executed_once(const rk_run_model *run, const rk_startup_group *g) {
    enum { MOST = 2 };
    uint64_t executions = 0;
    for (size_t i = 0; i < g->count; i++) {
        uint64_t count = rk_explain_executions(run, g->items[i]->item->compile);
        if (!count || count > MOST)
            return false;
        executions += count;
    }
    return 2 * executions <= 3 * g->count;
}

// Says what the remedy can save. One program for all layers holds a copy of the random generator
// for each weight; the small programs are compiled once for all weights of a shape.
static void add_saving(const rk_run_model *run, const rk_startup_group *g, rk_buf *out) {
    rk_buf_add_text(out, " This concerns only a start that has to compile: later starts load the "
                         "programs either way.");
    if (are_executed_once(run, g))
        rk_buf_add_text(out, " At most a part of these seconds is saved: the one program takes "
                             "time to compile as well.");
    else
        rk_buf_add_text(out, " The one program takes time to compile as well. With many layers it "
                             "may even take longer than the small programs, which layers of equal "
                             "shapes share: compare the start with and without this change.");
}

// Returns whether the operations call a model that exists already. Flax and Haiku call a model to
// initialize it; the models of other libraries are made by their constructors.
static bool calls_model(const struct library *library, const rk_startup_finding *found) {
    return takes_objects(library) && found->is_object;
}

// Returns whether the operations are run by a package about which nothing is known here.
static bool is_unknown_package(const rk_startup_finding *found) {
    for (size_t k = 0; k < RK_ARRAY_LEN(libraries); k++)
        if (rk_span_is(found->package, libraries[k].package))
            return false;
    return found->package.len && !rk_span_is(found->package, "jax");
}

// A library of any of the operations whose models jax.jit does not take; NULL if there is none.
static const struct library *library_of_objects(const rk_startup_group *g) {
    for (size_t k = 0; k < RK_ARRAY_LEN(libraries); k++)
        for (size_t i = 0; i < g->count && takes_objects(&libraries[k]); i++)
            if (has_library(&g->items[i]->stack, &libraries[k]))
                return &libraries[k];
    return NULL;
}

bool rk_startup_has_steps(const rk_startup_group *g) {
    return g->items[0]->item->step != RK_NO_STEP;
}

static void add_place_for_operations(const struct library *objects, bool has_steps, rk_buf *out) {
    rk_buf_add_text(out, "These operations run outside of any jitted function: put what each line "
                         "calculates into a function and jit that, if JAX can trace it");
    if (objects)
        rk_buf_add_format(out, " (with %s, if it makes a model)", objects->jit);
    rk_buf_add_text(out, ", so that it is one program.");
    if (has_steps)
        rk_buf_add_text(out, " If some of them are in the loop of the steps, move them into the "
                             "step.");
}

static void add_remedy(const struct library *library, const rk_startup_group *g,
                       const rk_startup_finding *found, rk_buf *out) {
    const char *jit = library ? library->jit : "jax.jit";
    if (found->can_be_jitted && found->caller)
        rk_buf_add_format(
            out,
            "Compile it as one program, if JAX can trace it: %s(%s). If it is called "
            "for one layer after the other, jit the function around it instead: %s(%s).",
            jit, rk_buf_text(&found->name), jit, found->caller);
    else if (found->can_be_jitted)
        rk_buf_add_format(out,
                          "Compile it as one program, if JAX can trace it: %s(%s). (If it returns "
                          "other objects than arrays, jit the call on the line shown.)",
                          jit, rk_buf_text(&found->name));
    else if (found->runs_the_steps)
        add_place_for_operations(library_of_objects(g), rk_startup_has_steps(g), out);
    else if (is_unknown_package(found))
        rk_buf_add_format(out,
                          "The package %.*s runs these operations in this call. If the call only "
                          "computes values, and JAX can trace it, put it into a function that "
                          "returns only arrays, and jit that. Otherwise they cannot become one "
                          "program.",
                          (int)found->package.len, (const char *)found->package.data);
    else if (calls_model(library, found))
        rk_buf_add_format(out,
                          "The model is called outside of any jitted function: use %s on the "
                          "function that contains this line, before its first call, so that these "
                          "operations are one program.",
                          library->jit);
    else
        rk_buf_add_format(out,
                          "If these are initial values or data, compute them in one function and "
                          "jit that, if JAX can trace it, so that they are one program.%s%s A call "
                          "that changes objects, that reads a value to choose a branch or a size, "
                          "or that also runs the steps, cannot be jitted as a whole.",
                          library ? " " : "", library ? library->remedy : "");
}

void rk_startup_advise(const rk_run_model *run, const rk_startup_group *g,
                       const rk_startup_finding *found, rk_buf *out) {
    const struct library *library = library_of(g);
    if (library && !library->remedy) {
        rk_buf_add_text(out, "Keras initializes each variable by itself and outside of jit. Later "
                             "starts load these programs.");
        return;
    }
    if (found->library_runs_the_steps) {
        rk_buf_add_text(out, RK_LIBRARY_RUNS_STEPS
                        " If the library can make its first state in a call of its own that only "
                        "computes arrays, jit that call.");
        return;
    }
    add_remedy(library, g, found, out);
    if (!takes_objects(library) && !is_unknown_package(found) &&
        (found->can_be_jitted || !found->runs_the_steps))
        rk_buf_add_text(out, " Bind arguments that are not arrays with functools.partial; those "
                             "that can be hashed may be static (static_argnums, static_argnames).");
    add_saving(run, g, out);
}
