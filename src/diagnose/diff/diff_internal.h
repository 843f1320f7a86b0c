// The parts of one comparison, shared by the files of diff/. Inside src/diagnose only.
#pragma once

#include "diagnose/diff/differ_internal.h"

RK_HIDDEN RK_NODISCARD rk_err *rk_differ_match_parameters(rk_differ *d);
// Matches parameters without names, in any order, if both programs compute the same from them.
RK_HIDDEN RK_NODISCARD rk_err *rk_differ_match_structure(rk_differ *d);
// Returns whether inputs of this type (rk_differ_hash_type) were paired by their type alone.
RK_HIDDEN bool rk_differ_is_guessed(const rk_differ *d, uint64_t type);
// Returns whether an attribute is no difference: a name, a numbering or a layout.
RK_HIDDEN bool rk_differ_is_ignored(rk_span name);
// Finds a matched input whose element type differs, and returns both element types. False if there
// is none.
RK_HIDDEN RK_NODISCARD bool rk_differ_find_retyped(const rk_differ *d, rk_span *out_before,
                                                   rk_span *out_after);
RK_HIDDEN RK_NODISCARD rk_err *rk_differ_parameters(rk_differ *d);
// Notes in its difference that the later program adds something to a new parameter.
RK_HIDDEN void rk_differ_note_sum(rk_differ *d, uint32_t parameter);
// Compares the results that are literals, or the others. A changed literal is a cause only if
// nothing else differs, so the literals are compared last.
RK_HIDDEN RK_NODISCARD rk_err *rk_differ_results(rk_differ *d, bool literals);
RK_HIDDEN RK_NODISCARD rk_err *rk_differ_ops(rk_differ *d);

RK_HIDDEN bool rk_differ_is_literal_result(const rk_program_index *index, uint32_t number);

// Compares two matched items.
RK_HIDDEN RK_NODISCARD rk_err *rk_differ_pair(rk_differ *d, uint32_t i, uint32_t j);

// Adds the operands of matched operations that are other arguments of their function or loop. Only
// for programs without other differences: an argument more shifts those after it. Arguments of the
// same number of two blocks, one inside the other, count as the same.
RK_HIDDEN RK_NODISCARD rk_err *rk_differ_arguments(rk_differ *d);

// Appends a node as text, shortened; "none" for RK_NO_ID.
RK_HIDDEN void rk_differ_write_node(const rk_program_index *index, uint32_t node, rk_buf *out);

// Appends the value of a constant: a number, or a list of its first numbers.
RK_HIDDEN void rk_differ_write_constant(const rk_program_index *index, uint32_t op, rk_buf *out);
// Returns whether two constants have the same value. Their types may differ.
RK_HIDDEN bool rk_differ_same_constant(const rk_differ *d, uint32_t before, uint32_t after);
// Returns whether each of two programs has a constant with the value of `before`, and one with that
// of `after`. Then the two may be two constants, and none of them changed.
RK_HIDDEN bool rk_differ_both_have_constants(const rk_differ *d, uint32_t before, uint32_t after);
// Returns whether changed sizes of parameters explain that a constant, a number or a short list of
// numbers, changed from `before` to `after`.
RK_HIDDEN bool rk_differ_constant_follows(const rk_differ *d, uint32_t before, uint32_t after);
