#include "cli/fail.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/term.h"
#include "cli/text.h"

static int status_of(rk_code code) {
    switch (code) {
    case RK_INVALID_ARGUMENT:
    case RK_NOT_FOUND:
    case RK_PERMISSION_DENIED:
    case RK_FAILED_PRECONDITION:
        return RK_EXIT_USAGE;
    default:
        return RK_EXIT_FAILED;
    }
}

static char *details; // owned

void rk_fail_set_details(const char *text) {
    rk_free(details);
    details = rk_need(rk_strdup(text));
}

bool rk_fail_has_details(void) {
    return details != NULL;
}

int rk_fail_print(rk_err *err) {
    enum { PREFIX_COLUMNS = sizeof "rekindle: " - 1 };
    int status = status_of(rk_err_code(err));
    RK_AUTO(rk_buf) message = RK_BUF_INIT(0);
    rk_text_add_printable(&message, rk_span_text(rk_err_message(err)));
    // Keeps the order of the output: earlier output on stdout comes first.
    (void)fflush(stdout);
    (void)fprintf(stderr, "%srekindle:%s ", rk_style(RK_STYLE_BAD, stderr),
                  rk_style(RK_STYLE_NONE, stderr));
    rk_term_wrap(rk_buf_text(&message), PREFIX_COLUMNS, 2, rk_term_columns(stderr), stderr);
    if (details)
        (void)fputs(details, stderr);
    rk_free(details);
    details = NULL;
    rk_err_free(err);
    return status;
}

void *rk_need(void *ptr) {
    if (!ptr) {
        (void)fputs("rekindle: out of memory\n", stderr);
        exit(RK_EXIT_FAILED);
    }
    return ptr;
}

const char *rk_need_text(const rk_buf *buf) {
    rk_err *err = rk_buf_status(buf);
    if (err)
        exit(rk_fail_print(err));
    return rk_buf_text(buf);
}
