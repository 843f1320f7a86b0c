#include "cli/verbs.h"

#include "base/span.h"

#define ROW(name) &rk_verb_##name,
static const rk_verb *const items[] = {RK_VERBS(ROW)};

const rk_verb_list rk_verbs = {.items = items, .count = RK_ARRAY_LEN(items)};
