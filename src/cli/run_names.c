#include "cli/run_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/fail.h"
#include "journal/read.h"

void rk_run_names_cleanup(rk_run_names *names) {
    for (size_t i = 0; i < names->count; i++)
        rk_free(names->items[i]);
    rk_free(names->items);
    rk_free(names->start_ns);
}

static rk_err *add_name(void *context, const rk_run_item *item) {
    rk_run_names *names = context;
    names->items = rk_need(rk_realloc(names->items, (names->count + 1) * sizeof *names->items));
    names->start_ns =
        rk_need(rk_realloc(names->start_ns, (names->count + 1) * sizeof *names->start_ns));
    names->start_ns[names->count] = item->start_ns;
    names->items[names->count++] = rk_need(rk_strdup(item->run));
    return NULL;
}

rk_err *rk_run_names_collect(const char *directory, rk_run_names *out_names) {
    return rk_run_list(directory, add_name, out_names);
}

// Reads "last", "-1", "-2", …. `*out_back` is 1 for the last run.
static bool is_counted(const char *which, size_t *out_back) {
    enum { MOST_DIGITS = 7 };
    *out_back = 1;
    if (strcmp(which, "last") == 0)
        return true;
    size_t digits = which[0] == '-' ? strspn(which + 1, "0123456789") : 0;
    if (digits == 0 || digits > MOST_DIGITS || which[1 + digits] || which[1] == '0')
        return false;
    *out_back = strtoul(which + 1, NULL, 10);
    return true;
}

static bool has_name(const rk_run_names *names, const char *name) {
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return true;
    return false;
}

// A number without a sign is easily meant as one.
static bool is_number(const char *which) {
    enum { MOST_DIGITS = 4 }; // more are the beginning of a date
    size_t digits = strspn(which, "0123456789");
    return digits > 0 && digits <= MOST_DIGITS && which[digits] == '\0';
}

static rk_err *no_such_number(const char *which, size_t count) {
    return rk_error(RK_NOT_FOUND,
                    "there is no run %s: runs are counted from the end, -1 is the last of %zu "
                    "(`rekindle runs`)",
                    which, count);
}

rk_err *rk_run_names_find(const char *directory, const char *which, char **out_run) {
    size_t back;
    RK_AUTO(rk_run_names) names = {0};
    if (!which || !is_counted(which, &back)) {
        rk_err *err = rk_run_find(directory, which, out_run);
        if (rk_err_code(err) != RK_NOT_FOUND || !which || !is_number(which))
            return err;
        rk_err_drop(err, "replaced by the message about numbers");
        RK_TRY(rk_run_names_collect(directory, &names));
        return no_such_number(which, names.count);
    }
    RK_TRY(rk_run_names_collect(directory, &names));
    if (names.count == 0)
        return rk_run_find(directory, NULL, out_run); // returns the error
    if (has_name(&names, which)) {
        *out_run = rk_need(rk_strdup(which));
        return NULL;
    }
    if (back > names.count)
        return no_such_number(which, names.count);
    *out_run = rk_need(rk_strdup(names.items[names.count - back]));
    return NULL;
}

void rk_run_names_refer(const rk_run_names *names, const char *run, rk_buf *out) {
    for (size_t back = 1; back <= names->count; back++) {
        if (strcmp(names->items[names->count - back], run) == 0) {
            rk_buf_add_format(out, "-%zu", back);
            return;
        }
    }
    rk_buf_add_text(out, run);
}
