// State of an explanation, shared by the files of explain/. Inside src/diagnose only.
#pragma once

#include "diagnose/diff/counterparts.h"
#include "diagnose/diff/diff.h"
#include "diagnose/explain/explain.h"

enum { RK_EXPLAIN_STARTS_MAX = 3 };

typedef struct rk_explainer {
    const rk_run_model *run;
    rk_earlier_runs earlier;
    const rk_corpus *corpus;
    rk_explanation *out;
    const rk_known **seen; // borrowed: program of each request of the run; NULL: not kept
    rk_start now;          // the run itself
    rk_start starts[RK_EXPLAIN_STARTS_MAX]; // earlier starts of the same script, the latest first
    size_t start_count;
    // Record of removed executables (store/removals.h); read when it is first needed.
    rk_buf *removals; // borrowed
    bool *has_removals;
} rk_explainer;

// What earlier runs report about a key, in rising order.
typedef enum rk_past_kind {
    RK_PAST_UNKNOWN,
    RK_PAST_COMPILED,
    RK_PAST_LOST, // the process ended before it stored the executable
    RK_PAST_STORED,
} rk_past_kind;

typedef struct rk_past {
    rk_past_kind kind;
    const char *run;    // borrowed; NULL: unknown
    const char *reason; // why it was not stored; borrowed; NULL: unknown
    uint64_t time_ns;   // of the event
} rk_past;

// Looks for the key of a request in earlier runs, up to the time of the request.
RK_HIDDEN rk_past rk_explain_past(const rk_explainer *e, const rk_run_compile *of);

// Fills in `now` and `starts`. The caller cleans them up, also after an error.
RK_HIDDEN RK_NODISCARD rk_err *rk_explain_find_starts(rk_explainer *e);

// An earlier program that a request may be compared with.
typedef struct rk_nearest_candidate {
    const rk_known *known;
    const rk_run_compile *request; // in this run; NULL: no earlier request of this run
    const char *run;               // the run that requested it
    double similarity;
    bool failed; // its compilation failed: only taken if there is no other
} rk_nearest_candidate;

// Where candidates come from.
typedef enum rk_nearest_source {
    RK_NEAREST_START,                                // + index of the start
    RK_NEAREST_SAME_PROGRAM = RK_EXPLAIN_STARTS_MAX, // anywhere in the store
    RK_NEAREST_OLDER,                                // older runs of the same script
    RK_NEAREST_SIBLING,                              // this run
    RK_NEAREST_OTHER_JOB,
    RK_NEAREST_SOURCE_COUNT,
} rk_nearest_source;

// Finds the candidates of one source for request `index`, the most similar first; at most
// RK_COUNTERPARTS_MAX. Returns their number.
RK_HIDDEN size_t rk_explain_candidates(const rk_explainer *e, size_t index, unsigned source,
                                       rk_nearest_candidate *out_candidates);

// Returns whether earlier starts requested programs of this name, but fewer of them.
RK_HIDDEN bool rk_explain_is_additional(const rk_explainer *e, size_t index);

// Compares an item with the earlier program from which it differs by the fewest changes, and fills
// in the differences and the cause. If the numbers are equal, a program of an earlier start usually
// comes before a program of this run. `loaded` is the item's own program. Without an earlier
// program, changes nothing.
RK_HIDDEN RK_NODISCARD rk_err *rk_explain_compare(const rk_explainer *e, size_t index,
                                                  const rk_loaded *loaded, rk_explained *item);

// Returns whether an earlier program of the same run is another function than the item's program,
// so that other shapes or other inputs do not explain their difference. One line may call several
// functions, or jit a function that it gets as an argument; a library may give one name to all
// functions that it wraps. `diff`: from the earlier program to the item's.
RK_HIDDEN bool rk_is_other_function(const rk_program_diff *diff, const rk_known *earlier,
                                    const rk_explained *item);

// Returns whether one line of the user calls the item and the program that it was compared with, or
// the line is unknown for both. False if one of the sketches is not known.
RK_HIDDEN bool rk_explain_is_same_call(const rk_explained *item);

// Returns whether the process calls the function, on the same line, for inputs of other ranks, too,
// as an optimizer does for each parameter.
RK_HIDDEN bool rk_explain_is_of_several_tensors(const rk_explanation *x, const rk_explained *item);

// Returns whether each input whose shape differs is a parameter of a model that both programs
// update, no data.
RK_HIDDEN bool rk_explain_is_of_state(const rk_explained *item);

// Returns whether the inputs whose shapes differ are of two models: both programs update them, or
// another function of the run does, or the width of a layer differs in its weights, in its bias,
// and in the next layer's weights. (If a third program of the same call has another number of rows,
// something may grow: only what another function updates is then of two models.)
RK_HIDDEN bool rk_explain_is_of_other_model(const rk_explanation *x, const rk_explained *item);

// Returns whether the first difference is a constant with several elements.
RK_HIDDEN bool rk_explain_is_array(const rk_explained *item);

// Returns whether the first difference is the position of a slice. Others may follow from the first
// step, whose graph also makes the state of an optimizer.
RK_HIDDEN bool rk_explain_moves_slice_first(const rk_explained *item);

// Returns whether the cause is another structure, and the program has all operations, inputs and
// results of the earlier program: only their order or their operands differ. For JAX, the earlier
// program must be of another run.
RK_HIDDEN bool rk_explain_is_reordered(const rk_explained *item);

// Looks for the program of an item in earlier runs that requested it with other options or in
// another environment, and takes these as the cause. Uses the journals alone, so the earlier
// program need not be in the store. Does nothing if the item is compared with the same program
// already.
RK_HIDDEN RK_NODISCARD rk_err *rk_explain_by_record(const rk_explainer *e, rk_explained *item);

// Sets `gone` of an item without a cause.
RK_HIDDEN void rk_explain_find_gone(const rk_explainer *e, size_t index, rk_explained *item);

// Finds repeated blocks in a program. Takes the blocks of the entry function if they are most of
// the program, otherwise those of any function, which it marks as minor.
RK_HIDDEN RK_NODISCARD rk_err *rk_find_blocks(const rk_program_index *index, rk_blocks *out_blocks);

// An operation that binds a program to the process that made it: most often a callback into the
// process.
typedef struct rk_process_reference {
    rk_span op;      // "stablehlo.custom_call"
    rk_source place; // the user's; without a file if only frames of libraries lead to the operation
} rk_process_reference;

// Finds a process reference that `reason`, the reason of a bypass, names: the first one whose
// source line is known, else the first one. False if there is none. Spans are borrowed from the
// model.
RK_HIDDEN RK_NODISCARD bool rk_find_process_reference(const rk_program_index *index,
                                                      const char *reason,
                                                      rk_process_reference *out_reference);

// For each compilation with several causes, puts the rarest change first and sets the cause by it.
RK_HIDDEN RK_NODISCARD rk_err *rk_explain_choose_heads(rk_explanation *x);
// Returns whether the first change of an item is permanent: no other compilation has this change,
// and no later compilation of the same process is compared with the same earlier program.
// Compilations that accumulate do not count.
RK_HIDDEN RK_NODISCARD bool rk_explain_is_new_for_good(const rk_explanation *x,
                                                       const rk_explained *item);

// Returns whether a graph of PyTorch/XLA has all operations of an earlier one and some more, and
// another graph of the run has as many more than this one or the earlier one.
RK_HIDDEN bool rk_explain_graph_grows(const rk_explanation *x, const rk_explained *item);

// Makes items `first` whose difference from an earlier program has no cause: framework operations
// of the start, and graphs of PyTorch/XLA that handle another tensor.
RK_HIDDEN RK_NODISCARD rk_err *rk_explain_drop_causes(rk_explanation *x, const rk_steps *steps);

// Returns whether most of what differs are inputs that are zeros in the earlier program: values
// that its call creates, such as an optimizer's state.
RK_HIDDEN bool rk_explain_takes_what_was_zero(const rk_explained *item);

// Returns whether a graph of PyTorch/XLA takes a few tensors that the earlier one has as zeros,
// each with the type of a parameter: the state of an optimizer, which begins to update this
// parameter.
RK_HIDDEN bool rk_explain_takes_state_of_few(const rk_explained *item);

// Sets `has_many_sizes` of each item. Needs the causes that the comparisons found.
RK_HIDDEN void rk_explain_find_many_sizes(rk_explanation *x);

// Marks an item whose cause needs no change: `is_startup`, `is_own_call`, `is_part`. Needs the
// cause.
RK_HIDDEN void rk_explain_find_no_change(const rk_explainer *e, rk_explained *item);

// Returns whether only one of two graphs of PyTorch/XLA takes and returns some more values: those
// of a branch, of a sample that some steps make, or of an earlier step, which still exist at the
// barrier and are computed there.
RK_HIDDEN bool rk_explain_takes_and_returns_more(const rk_explained *item);

// Returns whether two graphs of PyTorch/XLA differ only in what they return, and in sizes: a tensor
// still exists at the barrier in some steps. A branch, a sum or a log may hold it.
RK_HIDDEN bool rk_explain_has_only_results(const rk_explained *item);

// Returns whether two graphs of PyTorch/XLA take or return other single numbers, and the first one
// is 1, -1 or -0 in one of them: PyTorch/XLA writes these numbers into the program.
RK_HIDDEN bool rk_explain_has_special_number(const rk_explained *item);

// Returns whether the first step of a sum has a constant where later steps have an input.
RK_HIDDEN bool rk_explain_begins_sum(const rk_explained *item);

// Returns whether each of two graphs of PyTorch/XLA takes inputs that the other one does not take:
// of a branch, of another batch, or values that were computed before the step.
RK_HIDDEN bool rk_explain_swaps_inputs(const rk_explained *item);

// Returns whether one program does all that the other one does, and more, with inputs of its own:
// not only an optional input, but a branch or another computation.
RK_HIDDEN bool rk_explain_is_in_other(const rk_explained *item);

// Returns whether a function of JAX gets the same values in another container, in one run: instead
// of each removed input, one of the same type is in the same place, found in another way (['mass'],
// [0] or .mass). The operations are nearly the same.
RK_HIDDEN bool rk_explain_is_of_container(const rk_explained *item);

// Returns whether two graphs of PyTorch/XLA only differ in single numbers, such as a running sum or
// the state of the random numbers.
RK_HIDDEN bool rk_explain_is_of_values(const rk_explained *item);
// Returns whether they only differ in single numbers among their inputs, some of them integers,
// which a branch in Python may use, too.
RK_HIDDEN bool rk_explain_is_of_integers(const rk_explained *item);
// Returns whether two graphs of PyTorch/XLA only differ in operations on one integer, as the state
// of the random numbers is: a random operation outside of the steps was computed in one of them.
RK_HIDDEN bool rk_explain_is_of_seed(const rk_explained *item);
// Returns whether two graphs of one run of PyTorch/XLA differ only in operations that reshape,
// transpose or broadcast.
RK_HIDDEN bool rk_explain_has_other_views(const rk_explained *item);

// Returns how often a process executed the program of a request. 0 if the journal does not say.
RK_HIDDEN uint64_t rk_explain_executions(const rk_run_model *run, const rk_run_compile *of);

// Returns whether the run executed an item's program as often as the earlier one of this run, and
// at least once: two layers, or two parts of one step. `nearest_of` must be set.
RK_HIDDEN bool rk_explain_runs_as_often(const rk_run_model *run, const rk_explained *item);

// Fills in the advice. Needs the cause and the differences.
RK_HIDDEN RK_NODISCARD rk_err *rk_advise(const rk_run_model *run, rk_explained *item);

// Appends to the advice on other sizes that the operations may have another order, too, if those of
// other programs do.
RK_HIDDEN RK_NODISCARD rk_err *rk_advise_on_order(rk_explanation *explanation);

// Appends the advice on an input that took so many sizes. `item`: one of the programs.
RK_HIDDEN void rk_advise_on_sizes(const rk_explained *item, size_t sizes, rk_buf *text);

RK_HIDDEN RK_NODISCARD rk_err *rk_find_patterns(rk_explainer *e);
RK_HIDDEN RK_NODISCARD rk_err *rk_answer_questions(rk_explanation *explanation);
