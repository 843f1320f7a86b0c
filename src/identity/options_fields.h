// The list of fields that a walk over compile options saw: names by path, values as text. Internal
// to this room.
#pragma once

#include "identity/components.h"
#include "identity/options_schema.h"

typedef struct rk_field_list {
    rk_components *components; // borrowed
    rk_buf path;               // of the field being walked
    rk_buf text;               // scratch for values
    bool muted;                // what is added now is not named: the key of a map's entry
    bool full; // the components' limit was reached: the rest is hashed but not named
} rk_field_list;

void rk_field_list_cleanup(rk_field_list *list);

// Steps into a field: appends ".name" (or "name" at the root) to the path and returns what to hand
// to rk_field_list_leave afterwards.
size_t rk_field_list_enter(rk_field_list *list, const char *name);
// The same for a field whose name the schema does not know: ".field_99".
size_t rk_field_list_enter_number(rk_field_list *list, uint32_t number);
// The same for the index of a repeated field, "[3]", and the key of a map's entry, "[key]".
size_t rk_field_list_enter_index(rk_field_list *list, size_t index);
size_t rk_field_list_enter_key(rk_field_list *list, rk_span key);
void rk_field_list_leave(rk_field_list *list, size_t mark);
const char *rk_field_list_path(const rk_field_list *list); // borrowed until the next step

// Appends a scalar as text, after a comma if there is text already. `value` is as it was on the
// wire.
void rk_field_list_text(rk_field_list *list, rk_schema_kind kind, uint64_t value);
// Adds a component with the path as its name and the text as its value, and clears the text.
RK_NODISCARD rk_err *rk_field_list_add_text(rk_field_list *list);
// The same with bytes as value; many bytes are given by their digest.
RK_NODISCARD rk_err *rk_field_list_add_bytes(rk_field_list *list, rk_span bytes);
