// Finds a start that compiles operation by operation: code outside of any jitted function, such as
// the initialization of a model, where each operation is a program of its own.
#include "base/alloc.h"
#include "diagnose/explain/operations_internal.h"
#include "diagnose/explain/patterns_internal.h"
#include "diagnose/explain/startup_internal.h"
#include "diagnose/shapes/dims_internal.h"

enum { PROGRAMS_MIN = 10 };

// An ordinary start compiles a few dozen operations, which take some milliseconds each.
#define COST_MIN_NS    ((uint64_t)1000 * 1000000)
#define CALL_SHARE_MIN 0.67 // of a call in its group, if the call alone is not worth a finding
#define SHARE_MIN      0.25 // of all that is compiled until the first step, that of the step included

typedef struct startup {
    rk_explainer *e;
    size_t process;
    uint64_t end;               // number of the request for the program of the steps
    rk_startup_origin *origins; // owned
    size_t count;
    uint64_t all_ns; // all that is compiled until the first step
} startup;

static void startup_cleanup(startup *self) {
    for (size_t i = 0; i < self->count; i++)
        rk_stack_cleanup(&self->origins[i].stack);
    rk_free(self->origins);
}

static void group_cleanup(rk_startup_group *g) {
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

// Returns whether another finding counts the operation, such as an operation of every step.
static bool is_of_other_finding(const startup *self, const rk_explained *item) {
    return rk_is_in_pattern(self->e->out, item, NULL);
}

static bool is_operation(const startup *self, const rk_explained *item) {
    return is_of_start(self, item) && item->is_eager && !is_of_other_finding(self, item) &&
           (item->cause == RK_CAUSE_FIRST || is_variant(item));
}

// Returns whether the start compiled operations that another finding counts.
static bool has_operations_of_others(const startup *self) {
    const rk_explanation *x = self->e->out;
    for (size_t i = 0; i < x->count; i++)
        if (x->items[i].is_eager && is_of_start(self, &x->items[i]) &&
            is_of_other_finding(self, &x->items[i]))
            return true;
    return false;
}

static bool is_much(const startup *self, size_t count, uint64_t cost_ns) {
    return count >= PROGRAMS_MIN && cost_ns >= COST_MIN_NS &&
           (double)cost_ns >= SHARE_MIN * (double)self->all_ns;
}

// The frame at a depth of the path; 0 is the outermost one.
static const rk_stack_frame *frame_at(const rk_startup_origin *o, size_t depth) {
    return &o->stack.frames[o->stack.count - 1 - (o->first + depth)];
}

static bool has_frame(const rk_startup_origin *o, size_t depth) {
    return o->first + depth < o->stack.count;
}

// True if a frame is of an object's construction or call. The layers of a model call each other in
// this way; libraries may hide their own frames in between.
static bool is_method_of_layer(const rk_stack_frame *frame) {
    return frame->function && (rk_text_ends(frame->function, ".__call__") ||
                               rk_text_ends(frame->function, ".__init__"));
}

// The line above need not call the object itself: Flax leaves its own frames out, and calls
// Model.__call__ for model.init(…).
static bool is_call_of_object(const rk_stack_frame *frame) {
    return frame->function && rk_text_ends(frame->function, ".__call__") &&
           !rk_text_ends(frame->function, "Meta.__call__");
}

// A comprehension is a frame of its own before Python 3.12, at the line of the function around it.
static bool is_comprehension(const rk_stack_frame *frame) {
    return frame->function &&
           (rk_text_ends(frame->function, "comp>") || rk_text_ends(frame->function, "<genexpr>"));
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

// Returns whether a frame is of a package that only parses the arguments and calls the user's main
// function (absl.app.run).
static bool is_launcher(const rk_stack_frame *frame) {
    static const char *const packages[] = {"absl", "click", "fire", "hydra", "typer", "tyro"};
    rk_span package = rk_source_package(rk_span_text(frame->file));
    for (size_t i = 0; i < RK_ARRAY_LEN(packages); i++)
        if (rk_span_is(package, packages[i]))
            return true;
    return false;
}

// The path begins in the user's code, below a launcher. It ends where this code calls a library, or
// a layer of a model: what these call back is part of that call.
static void find_path(rk_startup_origin *o) {
    for (size_t i = 0; i < o->stack.count; i++)
        if (is_launcher(&o->stack.frames[o->stack.count - 1 - i]))
            o->first = i + 1;
    while (has_frame(o, 0) && !rk_is_user_frame(frame_at(o, 0)))
        o->first++;
    while (has_frame(o, o->length) && rk_is_user_frame(frame_at(o, o->length)) &&
           !(o->length && is_method_of_layer(frame_at(o, o->length))))
        o->length++;
}

// Leaves out variants of a line of the user's own: they may be of a loop, where they have a cause.
static rk_err *add_origin(startup *self, const rk_explained *item) {
    RK_AUTO(rk_loaded) loaded = {0};
    RK_TRY(rk_corpus_open(self->e->corpus, item->program, &loaded));
    rk_startup_origin *o = &self->origins[self->count++];
    o->item = item;
    if (loaded.loaded)
        RK_TRY(rk_stack_take(&loaded.index.call, &o->stack));
    remove_comprehensions(&o->stack);
    find_path(o);
    if (item->cause == RK_CAUSE_FIRST || has_frame(o, o->length))
        return NULL;
    rk_stack_cleanup(&o->stack);
    *o = (rk_startup_origin){0};
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

static bool same_path(const rk_startup_origin *a, const rk_startup_origin *b, size_t depth) {
    if (a->length <= depth || b->length <= depth)
        return false;
    return rk_is_same_line(frame_at(a, depth), frame_at(b, depth));
}

// The operations of a group that continue with the same frame.
typedef struct child {
    const rk_startup_origin *of;
    size_t count;
    uint64_t cost_ns, deeper_ns; // of all; of those with further frames
} child;

static child sum_child(const rk_startup_group *g, const rk_startup_origin *of) {
    child sum = {.of = of};
    for (size_t i = 0; i < g->count; i++) {
        const rk_startup_origin *o = g->items[i];
        if (!same_path(o, of, g->depth))
            continue;
        sum.count++;
        sum.cost_ns += o->item->compile->compile_ns;
        sum.deeper_ns += has_frame(o, g->depth + 1) ? o->item->compile->compile_ns : 0;
    }
    return sum;
}

static child find_costliest(const rk_startup_group *g) {
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
static bool descend(const startup *self, rk_startup_group *g) {
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

static bool same_lines(const rk_startup_origin *a, const rk_startup_origin *b) {
    for (size_t depth = 0; depth < a->length; depth++)
        if (!same_path(a, b, depth))
            return false;
    return a->length == b->length;
}

static const char *result_type_of(const rk_startup_origin *o) {
    const rk_known *known = o->item->program;
    return known && known->has_sketch && known->sketch.result_count ? known->sketch.results[0].type
                                                                    : "";
}

// Returns whether one line ran an operation for several shapes of one rank: the function that
// contains the line has a loop, or is called for one size after the other, as for each layer.
static bool runs_several_shapes(const rk_startup_group *g) {
    for (size_t i = 0; i < g->count; i++)
        for (size_t k = 0; k < i; k++) {
            const rk_startup_origin *a = g->items[i], *b = g->items[k];
            if (has_frame(a, g->depth) &&
                a->item->program->sketch.call.hash == b->item->program->sketch.call.hash &&
                same_lines(a, b) && rk_explained_share_name(a->item, b->item) &&
                rk_same_rank(result_type_of(a), result_type_of(b)) &&
                strcmp(result_type_of(a), result_type_of(b)) != 0)
                return true;
        }
    return false;
}

// Returns whether jax.jit may take the called function as it is: a plain function of the user's own
// file. A method may keep state, and the functions of libraries may do anything.
static bool is_plain_function(const rk_stack_frame *called) {
    return called->function && rk_is_user_frame(called) && !strpbrk(called->function, ".<") &&
           strcmp(called->function, "main") != 0;
}

static bool is_new_call(const rk_startup_group *g, size_t before, const rk_startup_origin *o) {
    for (size_t i = 0; i < before; i++)
        if (same_path(g->items[i], o, g->depth))
            return false;
    return true;
}

// For a group that no single call stands for: narrows it to those of its calls that run many
// operations. For example, a script initializes one model after the other, outside of all
// functions. `*out_found`: these calls together are worth a finding.
static rk_err *take_calls(const startup *self, rk_startup_group *g, bool *out_found) {
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
static const rk_stack_frame *find_place(const rk_startup_group *g) {
    child best = find_costliest(g);
    return is_call(&best) ? frame_at(best.of, g->depth) : frame_at(g->items[0], g->depth - 1);
}

// Appends the name of the called function: "init" of "Module.init"; of a constructor or a layer,
// the name of its class. Skips metaclasses, which make the instances of equinox modules. Appends
// nothing for a name that is not public. Returns whether it is a class.
static bool add_name(const rk_startup_origin *o, size_t depth, rk_buf *out) {
    while (has_frame(o, depth) && frame_at(o, depth)->function &&
           rk_text_ends(frame_at(o, depth)->function, "Meta.__call__"))
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
static void forget_variants(rk_explanation *x, const rk_startup_group *g) {
    for (size_t i = 0; i < g->count; i++)
        if (is_variant(g->items[i]->item))
            rk_explained_be_first(&x->items[g->items[i]->item - x->items]);
}

static void finding_cleanup(rk_startup_finding *found) {
    rk_buf_cleanup(&found->name);
}

// The costliest line of the group's function that is not among `taken`. If there is none, `of` is
// NULL.
static child next_line(const rk_startup_group *g, const rk_startup_origin *const *taken,
                       size_t count) {
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
static void add_lines(const rk_startup_group *g, rk_buf *out) {
    enum { LINES_NAMED_MAX = 4 };
    const rk_startup_origin *taken[LINES_NAMED_MAX];
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
        rk_buf_add_format(out, ", and most of the seconds are those of line%s %s",
                          count == 1 ? "" : "s", rk_buf_text(&lines));
}

// Appends "at least 12 operations before the first step": other findings may count some. A job may
// make a second model later, before the steps that execute the most.
static void add_count(const rk_startup_group *g, rk_buf *out) {
    size_t before = 0;
    for (size_t i = 0; i < g->count; i++)
        before += g->items[i]->item->step <= 1;
    rk_buf_add_format(out, "at least %zu operations", g->count);
    if (!rk_startup_has_steps(g))
        rk_buf_add_text(out, " at the start");
    else if (before == g->count)
        rk_buf_add_text(out, " before the first step");
    else if (before > 0)
        rk_buf_add_format(out, ", %zu of them before the first step,", before);
}

static void add_summary(const rk_startup_group *g, const rk_startup_finding *found, rk_buf *out) {
    add_count(g, out);
    rk_buf_add_text(out, " are compiled one by one, each as a program of its own, ");
    if (found->runs_the_steps) {
        rk_buf_add_format(out, "in the function %s, which runs the %s as well",
                          rk_buf_text(&found->name),
                          rk_startup_has_steps(g) ? "steps" : "rest of the job");
        add_lines(g, out);
    } else if (g->calls > 1) {
        rk_buf_add_format(out, "in %zu calls, the costliest of them on this line", g->calls);
    } else if (found->name.len && !found->is_object) {
        const child best = find_costliest(g);
        rk_buf_add_format(out, "in the call of %s%s", rk_buf_text(&found->name),
                          is_call(&best) ? " (the line shown is the costliest in it)" : "");
    } else {
        rk_buf_add_text(out, "in the call on this line");
    }
}

static rk_err *look_into(const rk_explainer *e, const rk_startup_group *g,
                         rk_startup_finding *out_found) {
    size_t named = 0;
    while (named + 1 < g->count && !has_frame(g->items[named], g->depth))
        named++;
    const rk_startup_origin *o = g->items[named];
    bool is_class = add_name(o, g->depth, &out_found->name), known, runs;
    if (!out_found->name.len || !has_frame(o, g->depth))
        return NULL;
    const rk_stack_frame *called = frame_at(o, g->depth);
    out_found->is_object = is_call_of_object(called);
    out_found->package = rk_source_package(rk_span_text(called->file));
    RK_TRY(rk_runs_steps(e, o->item->compile->process, called, &known, &runs));
    out_found->can_be_jitted = !is_class && !runs && is_plain_function(called);
    if (out_found->can_be_jitted && g->depth > 1 && runs_several_shapes(g) &&
        is_plain_function(frame_at(o, g->depth - 1)))
        out_found->caller = frame_at(o, g->depth - 1)->function;
    out_found->runs_the_steps = known && runs && o->length > g->depth;
    out_found->library_runs_the_steps = known && runs && o->length <= g->depth;
    return NULL;
}

static rk_err *report(const startup *self, const rk_startup_group *g) {
    rk_explainer *e = self->e;
    RK_AUTO(rk_members) members = {0};
    RK_AUTO(rk_pattern_text) text = {.summary = {0}};
    __attribute__((cleanup(finding_cleanup))) rk_startup_finding found = {.name = {0}};
    for (size_t i = 0; i < g->count; i++)
        RK_TRY(rk_members_add(&members, g->items[i]->item));
    forget_variants(e->out, g);
    RK_TRY(look_into(e, g, &found));
    add_summary(g, &found, &text.summary);
    if (has_operations_of_others(self))
        rk_buf_add_text(&text.summary,
                        "; operations that another finding counts are not among them");
    rk_startup_advise(e->run, g, &found, &text.advice);
    const rk_stack_frame *place =
        found.runs_the_steps ? frame_at(find_costliest(g).of, g->depth) : find_place(g);
    return rk_pattern_add(e->out, RK_PATTERN_EAGER_STARTUP, members.items, members.count, &text,
                          place->file, place->line);
}

static rk_err *look_at(rk_explainer *e, size_t process, bool *out_found) {
    __attribute__((cleanup(startup_cleanup)))
    startup self = {.e = e, .process = process, .end = rk_first_step_request(e, process)};
    __attribute__((cleanup(group_cleanup))) rk_startup_group g = {0};
    if (self.end == UINT64_MAX)
        return NULL; // without steps, nothing is known to be of the start
    RK_TRY(collect(&self));
    if (!self.count)
        return NULL;
    g.items = rk_calloc(self.count, sizeof(rk_startup_origin *));
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
    return *out_found ? report(&self, &g) : NULL;
}

// All ranks do the same: the first process with such a start stands for all.
rk_err *rk_find_eager_startup(rk_explainer *e) {
    bool found = false;
    for (size_t p = 0; p < e->run->process_count && !found; p++)
        RK_TRY(look_at(e, p, &found));
    return NULL;
}
