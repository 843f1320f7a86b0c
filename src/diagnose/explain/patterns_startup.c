// Finds a start that compiles operation by operation: code outside of any jitted function, such as
// the initialization of a model, of which each operation is a program of its own.
#include "base/alloc.h"
#include "diagnose/explain/operations_internal.h"
#include "diagnose/explain/patterns_internal.h"

enum { PROGRAMS_MIN = 10 };

// An ordinary start compiles a few dozen operations, which take some milliseconds each.
#define COST_MIN_NS    ((uint64_t)1000 * 1000000)
#define CALL_SHARE_MIN 0.67 // of a call in its group, if the call alone is not worth a finding
#define SHARE_MIN      0.25 // of all that is compiled until the first step, that of the step included

// An operation of the start, with the path of calls in the user's code that leads to it.
typedef struct origin {
    const rk_explained *item;
    rk_stack stack;       // innermost frame first
    size_t first, length; // frames of the path, counted from the outermost one
} origin;

// Operations whose paths begin with the same `depth` frames.
typedef struct group {
    const origin **items; // owned
    size_t count, depth;
    size_t calls; // of several calls outside of all functions; 0: one call stands for the group
    uint64_t cost_ns;
} group;

typedef struct startup {
    rk_explainer *e;
    size_t process;
    uint64_t end;    // number of the request for the program of the steps
    origin *origins; // owned
    size_t count;
    uint64_t all_ns; // all that is compiled until the first step
} startup;

static void startup_cleanup(startup *self) {
    for (size_t i = 0; i < self->count; i++)
        rk_stack_cleanup(&self->origins[i].stack);
    rk_free(self->origins);
}

static void group_cleanup(group *g) {
    rk_free(g->items);
}

static bool is_of_start(const startup *self, const rk_explained *item) {
    return item->compile->process == self->process && item->compile->compiled &&
           item->compile->seq <= self->end;
}

// A line that is called for layer after layer makes variants of an operation.
static bool is_variant(const rk_explained *item) {
    return item->nearest_of && (item->cause == RK_CAUSE_SHAPE || item->cause == RK_CAUSE_CONSTANT);
}

static bool is_operation(const startup *self, const rk_explained *item) {
    return is_of_start(self, item) && item->is_eager &&
           (item->cause == RK_CAUSE_FIRST || is_variant(item));
}

static bool is_much(const startup *self, size_t count, uint64_t cost_ns) {
    return count >= PROGRAMS_MIN && cost_ns >= COST_MIN_NS &&
           (double)cost_ns >= SHARE_MIN * (double)self->all_ns;
}

static bool is_user(const rk_stack_frame *frame) {
    return rk_file_owner_of(rk_span_text(frame->file)) == RK_FILE_USER;
}

// The frame at a depth of the path; 0 is the outermost one.
static const rk_stack_frame *frame_at(const origin *o, size_t depth) {
    return &o->stack.frames[o->stack.count - 1 - (o->first + depth)];
}

static bool has_frame(const origin *o, size_t depth) {
    return o->first + depth < o->stack.count;
}

static bool ends_with(const char *text, const char *end) {
    size_t len = strlen(text), end_len = strlen(end);
    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

// True if a frame is of an object's construction or call. The layers of a model call each other in
// this way; libraries may hide their own frames in between.
static bool is_method_of_layer(const rk_stack_frame *frame) {
    return frame->function &&
           (ends_with(frame->function, ".__call__") || ends_with(frame->function, ".__init__"));
}

// The line above need not call the object itself: Flax leaves its own frames out, and calls
// Model.__call__ for model.init(…).
static bool is_call_of_object(const rk_stack_frame *frame) {
    return frame->function && ends_with(frame->function, ".__call__") &&
           !ends_with(frame->function, "Meta.__call__");
}

// A comprehension is a frame of its own before Python 3.12, at the line of the function around it.
static bool is_comprehension(const rk_stack_frame *frame) {
    return frame->function &&
           (ends_with(frame->function, "comp>") || ends_with(frame->function, "<genexpr>"));
}

static void remove_comprehensions(rk_stack *stack) {
    size_t kept = 0;
    for (size_t i = 0; i < stack->count; i++) {
        rk_stack_frame frame = stack->frames[i];
        if (is_comprehension(&frame)) {
            rk_free(frame.file);
            rk_free(frame.function);
        } else {
            stack->frames[kept++] = frame;
        }
    }
    stack->count = kept;
}

// The path ends where the user's code calls a library, or a layer of a model: what these call back
// is part of that call.
static void find_path(origin *o) {
    while (has_frame(o, 0) && !is_user(frame_at(o, 0)))
        o->first++;
    while (has_frame(o, o->length) && is_user(frame_at(o, o->length)) &&
           !(o->length && is_method_of_layer(frame_at(o, o->length))))
        o->length++;
}

// Leaves out variants of a line of the user's own: they may be of a loop, where they have a cause.
static rk_err *add_origin(startup *self, const rk_explained *item) {
    RK_AUTO(rk_loaded) loaded = {0};
    RK_TRY(rk_corpus_open(self->e->corpus, item->program, &loaded));
    origin *o = &self->origins[self->count++];
    o->item = item;
    if (loaded.loaded)
        RK_TRY(rk_stack_take(&loaded.index.call, &o->stack));
    remove_comprehensions(&o->stack);
    find_path(o);
    if (item->cause == RK_CAUSE_FIRST || has_frame(o, o->length))
        return NULL;
    rk_stack_cleanup(&o->stack);
    *o = (origin){0};
    self->count--;
    return NULL;
}

// Collects the operations of the start. Opens their programs only if they cost enough.
static rk_err *collect(startup *self) {
    const rk_explanation *x = self->e->out;
    uint64_t cost_ns = 0;
    size_t count = 0;
    for (size_t i = 0; i < x->count; i++) {
        if (is_of_start(self, &x->items[i]))
            self->all_ns += x->items[i].compile->compile_ns;
        if (!is_operation(self, &x->items[i]))
            continue;
        cost_ns += x->items[i].compile->compile_ns;
        count++;
    }
    if (!is_much(self, count, cost_ns))
        return NULL;
    self->origins = rk_calloc(count, sizeof *self->origins);
    if (!self->origins)
        return rk_err_no_memory();
    for (size_t i = 0; i < x->count; i++)
        if (is_operation(self, &x->items[i]))
            RK_TRY(add_origin(self, &x->items[i]));
    return NULL;
}

static bool same_path(const origin *a, const origin *b, size_t depth) {
    if (a->length <= depth || b->length <= depth)
        return false;
    const rk_stack_frame *x = frame_at(a, depth), *y = frame_at(b, depth);
    return x->line == y->line && strcmp(x->file, y->file) == 0;
}

// The operations of a group that continue with the same frame.
typedef struct child {
    const origin *of;
    size_t count;
    uint64_t cost_ns, deeper_ns; // of all; of those with further frames
} child;

static child sum_child(const group *g, const origin *of) {
    child sum = {.of = of};
    for (size_t i = 0; i < g->count; i++) {
        const origin *o = g->items[i];
        if (!same_path(o, of, g->depth))
            continue;
        sum.count++;
        sum.cost_ns += o->item->compile->compile_ns;
        sum.deeper_ns += has_frame(o, g->depth + 1) ? o->item->compile->compile_ns : 0;
    }
    return sum;
}

static child find_costliest(const group *g) {
    child best = {0};
    for (size_t i = 0; i < g->count; i++) {
        child one = sum_child(g, g->items[i]);
        if (one.cost_ns > best.cost_ns)
            best = one;
    }
    return best;
}

static bool is_call(const child *one) {
    return one->of && 2 * one->deeper_ns >= one->cost_ns;
}

// Narrows the group to the costliest of its calls. False if no call stands for the group: then the
// operations are lines of one function, and the call of that function is the place. Lines outside
// of all functions have no such call.
static bool descend(const startup *self, group *g) {
    child best = find_costliest(g);
    size_t kept = 0;
    bool stands = is_much(self, best.count, best.cost_ns) ||
                  (2 * best.count >= PROGRAMS_MIN &&
                   (double)best.cost_ns >= CALL_SHARE_MIN * (double)g->cost_ns);
    if (!best.of || !stands || (!is_call(&best) && g->depth > 0))
        return false;
    for (size_t i = 0; i < g->count; i++)
        if (same_path(g->items[i], best.of, g->depth))
            g->items[kept++] = g->items[i];
    g->count = kept;
    g->cost_ns = best.cost_ns;
    g->depth++;
    return true;
}

static bool is_new_call(const group *g, size_t before, const origin *o) {
    for (size_t i = 0; i < before; i++)
        if (same_path(g->items[i], o, g->depth))
            return false;
    return true;
}

// Narrows a group that no call stands for to its calls of many operations: a script initializes one
// model after the other, outside of all functions. Returns in `out_found` whether they are worth a
// finding together.
static rk_err *take_calls(const startup *self, group *g, bool *out_found) {
    rk_autofree bool *keep = rk_calloc(g->count + 1, sizeof *keep);
    size_t kept = 0;
    if (!keep)
        return rk_err_no_memory();
    for (size_t i = 0; i < g->count; i++) {
        child call = sum_child(g, g->items[i]);
        keep[i] = 2 * call.count >= PROGRAMS_MIN && is_call(&call);
    }
    g->cost_ns = 0;
    for (size_t i = 0; i < g->count; i++) {
        if (!keep[i])
            continue;
        g->calls += is_new_call(g, kept, g->items[i]);
        g->cost_ns += g->items[i]->item->compile->compile_ns;
        g->items[kept++] = g->items[i];
    }
    g->count = kept;
    *out_found = is_much(self, kept, g->cost_ns);
    return NULL;
}

// The call that stands for the group. If it is a function that calls a library again and again
// (model.add of each layer), the costliest of these calls.
static const rk_stack_frame *find_place(const group *g) {
    child best = find_costliest(g);
    return is_call(&best) ? frame_at(best.of, g->depth) : frame_at(g->items[0], g->depth - 1);
}

// Appends the name of the called function: "init" of "Module.init"; of a constructor or a layer,
// the name of its class. Skips metaclasses, which make the instances of equinox modules. Appends
// nothing for a name that is not public. Returns whether it is a class.
static bool add_name(const origin *o, size_t depth, rk_buf *out) {
    while (has_frame(o, depth) && frame_at(o, depth)->function &&
           ends_with(frame_at(o, depth)->function, "Meta.__call__"))
        depth++;
    const char *name = has_frame(o, depth) ? frame_at(o, depth)->function : NULL;
    if (!name || strchr(name, '<'))
        return false;
    bool is_class = is_method_of_layer(frame_at(o, depth));
    size_t len = strlen(name) - (is_class ? strlen(".__init__") : 0);
    size_t start = len;
    while (start > 0 && name[start - 1] != '.')
        start--;
    if (name[start] != '_')
        rk_buf_add(out, name + start, len - start);
    return is_class;
}

// The finding explains variants of operations, too: they are no cause of their own.
static void forget_variants(rk_explanation *x, const group *g) {
    for (size_t i = 0; i < g->count; i++)
        if (is_variant(g->items[i]->item))
            rk_explained_be_first(&x->items[g->items[i]->item - x->items]);
}

// Libraries that make initial values, and how to make them with one program. The first of them that
// a stack has decides: a model of Keras may run on another library.
static const struct library {
    const char *package, *module; // `module`: a part of the file's path; NULL: any
    const char *jit;              // for a function that returns a model
    const char *remedy;           // NULL: the library has none
} libraries[] = {
    {"keras", NULL, NULL, NULL},
    {"flax", "/flax/linen/", "jax.jit", "With Flax: jax.jit(model.init)(…)."},
    {"flax", "/flax/nnx/", "nnx.jit",
     "With Flax NNX: nnx.jit on the function that makes the model."},
    {"equinox", NULL, "eqx.filter_jit",
     "With Equinox: eqx.filter_jit on the function that makes the model."},
    {"optax", NULL, "jax.jit", "With Optax: jax.jit(tx.init)(params)."},
};

static bool is_equinox(const struct library *library) {
    return library && strcmp(library->package, "equinox") == 0;
}

static bool has_library(const rk_stack *stack, const struct library *library) {
    for (size_t i = 0; i < stack->count; i++)
        if (rk_span_is(rk_source_package(rk_span_text(stack->frames[i].file)), library->package) &&
            (!library->module || strstr(stack->frames[i].file, library->module)))
            return true;
    return false;
}

// The library that most of the operations come from; NULL if there is none, or if it is not known:
// JAX leaves frames of its own and of some libraries out.
static const struct library *library_of(const group *g) {
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

// Returns whether jax.jit may take the called function as it is: a plain function of the user's own
// file. A method may keep state, and the functions of libraries may do anything.
static bool is_plain_function(const rk_stack_frame *called) {
    return called->function && is_user(called) && !strpbrk(called->function, ".<") &&
           strcmp(called->function, "main") != 0;
}

// What a finding says beside the operations of its group.
typedef struct finding {
    rk_buf name;         // of the called function; empty: unknown; owned
    bool is_object;      // an object is called, maybe by a method that the stack leaves out
    bool can_be_jitted;  // jax.jit can take that function
    bool runs_the_steps; // the function is of the user, and contains the call of the step
} finding;

static void finding_cleanup(finding *found) {
    rk_buf_cleanup(&found->name);
}

// The programs of a group that make random values, and how often the process executed them.
typedef struct random_values {
    uint64_t programs, executions; // programs: whose executions are known
    uint64_t cost_ns;
} random_values;

static random_values count_random_values(const rk_run_model *run, const group *g) {
    random_values sum = {0};
    for (size_t i = 0; i < g->count; i++) {
        const rk_explained *item = g->items[i]->item;
        uint64_t executions = rk_explain_executions(run, item->compile);
        if (!executions || !rk_makes_random_values(&item->program->sketch))
            continue;
        sum.programs++;
        sum.executions += executions;
        sum.cost_ns += item->compile->compile_ns;
    }
    return sum;
}

// Says what the remedy can save. One program for all layers holds a copy of the random generator
// for each weight; the small programs are compiled once for all weights of a shape.
static void add_saving(const rk_run_model *run, const group *g, rk_buf *out) {
    enum { REPEATED_MIN = 2 }; // executions for each program
    const random_values values = count_random_values(run, g);
    bool known = run->executed_count > 0;
    rk_buf_add_text(out, " This concerns only a start that has to compile: later starts load the "
                         "programs either way.");
    bool repeats = values.programs && values.executions >= REPEATED_MIN * values.programs &&
                   2 * values.cost_ns >= g->cost_ns;
    if (repeats)
        rk_buf_add_format(out,
                          " Compare both before you keep it, since the one program may take "
                          "longer to compile: %llu program%s of random values ran %llu times here, "
                          "because values of equal shapes, as in repeated layers, share a program; "
                          "the one program holds a copy for each of these times.",
                          (unsigned long long)values.programs, values.programs == 1 ? "" : "s",
                          (unsigned long long)values.executions);
    else
        rk_buf_add_text(out, known ? " It saves a part of these seconds: the one program takes "
                                     "time to compile as well."
                                   : " It saves a part of these seconds at most: with many layers "
                                     "of equal shapes, the one program may take longer to compile "
                                     "than these, which such layers share.");
}

static void add_remedy(const struct library *library, const finding *found, rk_buf *out) {
    if (found->can_be_jitted)
        rk_buf_add_format(out, "Compile it as one program: %s(%s).",
                          library ? library->jit : "jax.jit", rk_buf_text(&found->name));
    else if (found->runs_the_steps)
        rk_buf_add_text(out, "These operations run outside of any jitted function: put what such "
                             "a line calculates into a function and jit that, so that it is one "
                             "program; what is in the loop of the steps can move into the step.");
    else
        rk_buf_add_format(out,
                          "Compute the initial values in one function and jit that, so that they "
                          "are one program.%s%s A call that keeps state, or that also runs the "
                          "steps, cannot be jitted as a whole.",
                          library ? " " : "", library ? library->remedy : "");
}

static void add_advice(const rk_run_model *run, const group *g, const finding *found, rk_buf *out) {
    const struct library *library = library_of(g);
    if (library && !library->remedy) {
        rk_buf_add_text(out, "Keras initializes each variable by itself and outside of jit; later "
                             "starts load these programs. Fewer different shapes compile fewer "
                             "programs.");
        return;
    }
    add_remedy(library, found, out);
    // eqx.filter_jit does this by itself.
    if (!is_equinox(library) && (found->can_be_jitted || !found->runs_the_steps))
        rk_buf_add_text(out, " Arguments that are not arrays are static (static_argnums), or bound "
                             "by functools.partial.");
    add_saving(run, g, out);
}

// The costliest line of the group's function that is not among `taken`; without `of` if there is
// none.
static child next_line(const group *g, const origin *const *taken, size_t count) {
    child best = {0};
    for (size_t i = 0; i < g->count; i++) {
        child one = sum_child(g, g->items[i]);
        bool is_taken = one.count == 0;
        for (size_t k = 0; k < count; k++)
            is_taken |= same_path(taken[k], one.of, g->depth);
        if (!is_taken && one.cost_ns > best.cost_ns)
            best = one;
    }
    return best;
}

// Names the lines that make up most of the cost.
static void add_lines(const group *g, rk_buf *out) {
    enum { LINES_NAMED_MAX = 4 };
    const origin *taken[LINES_NAMED_MAX];
    RK_AUTO(rk_buf) lines = {0};
    uint64_t cost_ns = 0;
    size_t count = 0;
    while (count < LINES_NAMED_MAX && 2 * cost_ns < g->cost_ns) {
        child line = next_line(g, taken, count);
        if (!line.of)
            break;
        rk_buf_add_format(&lines, "%s%u", count ? ", " : "", frame_at(line.of, g->depth)->line);
        taken[count++] = line.of;
        cost_ns += line.cost_ns;
    }
    if (count)
        rk_buf_add_format(out, ", mostly on line%s %s", count == 1 ? "" : "s", rk_buf_text(&lines));
}

static void add_summary(const group *g, const finding *found, rk_buf *out) {
    bool has_steps = g->items[0]->item->step != RK_NO_STEP;
    rk_buf_add_format(out,
                      "%zu operations %s are compiled one by one, each as a program of its own, ",
                      g->count, has_steps ? "before the first step" : "at the start");
    if (found->runs_the_steps) {
        rk_buf_add_format(out, "in the function %s, which runs the steps as well",
                          rk_buf_text(&found->name));
        add_lines(g, out);
    } else if (g->calls > 1) {
        rk_buf_add_format(out, "in %zu calls, the costliest of them on this line", g->calls);
    } else if (found->name.len && !found->is_object) {
        rk_buf_add_format(out, "in the call of %s", rk_buf_text(&found->name));
    } else {
        rk_buf_add_text(out, "in the call on this line");
    }
}

static rk_err *look_into(const rk_explainer *e, const group *g, finding *out_found) {
    size_t named = 0;
    while (named + 1 < g->count && !has_frame(g->items[named], g->depth))
        named++;
    const origin *o = g->items[named];
    bool is_class = add_name(o, g->depth, &out_found->name), known, runs;
    if (!out_found->name.len || !has_frame(o, g->depth))
        return NULL;
    const rk_stack_frame *called = frame_at(o, g->depth);
    out_found->is_object = is_call_of_object(called);
    RK_TRY(rk_runs_steps(e, o->item->compile->process, called, &known, &runs));
    out_found->can_be_jitted = !is_class && !runs && is_plain_function(called);
    out_found->runs_the_steps = known && runs && o->length > g->depth;
    return NULL;
}

static rk_err *report(rk_explainer *e, const group *g) {
    RK_AUTO(rk_members) members = {0};
    RK_AUTO(rk_pattern_text) text = {.summary = {0}};
    __attribute__((cleanup(finding_cleanup))) finding found = {.name = {0}};
    for (size_t i = 0; i < g->count; i++)
        RK_TRY(rk_members_add(&members, g->items[i]->item));
    forget_variants(e->out, g);
    RK_TRY(look_into(e, g, &found));
    add_summary(g, &found, &text.summary);
    add_advice(e->run, g, &found, &text.advice);
    const rk_stack_frame *place =
        found.runs_the_steps ? frame_at(find_costliest(g).of, g->depth) : find_place(g);
    return rk_pattern_add(e->out, RK_PATTERN_EAGER_STARTUP, members.items, members.count, &text,
                          place->file, place->line);
}

static rk_err *look_at(rk_explainer *e, size_t process, bool *out_found) {
    __attribute__((cleanup(startup_cleanup)))
    startup self = {.e = e, .process = process, .end = rk_first_step_request(e, process)};
    __attribute__((cleanup(group_cleanup))) group g = {0};
    if (self.end == UINT64_MAX)
        return NULL; // without steps, nothing is known to be of the start
    RK_TRY(collect(&self));
    if (!self.count)
        return NULL;
    g.items = rk_calloc(self.count, sizeof(origin *));
    if (!g.items)
        return rk_err_no_memory();
    for (; g.count < self.count; g.count++) {
        g.items[g.count] = &self.origins[g.count];
        g.cost_ns += self.origins[g.count].item->compile->compile_ns;
    }
    while (descend(&self, &g))
        continue;
    *out_found = g.depth > 0;
    if (!*out_found)
        RK_TRY(take_calls(&self, &g, out_found));
    return *out_found ? report(e, &g) : NULL;
}

// All ranks do the same: the first process with such a start stands for all.
rk_err *rk_find_eager_startup(rk_explainer *e) {
    bool found = false;
    for (size_t p = 0; p < e->run->process_count && !found; p++)
        RK_TRY(look_at(e, p, &found));
    return NULL;
}
