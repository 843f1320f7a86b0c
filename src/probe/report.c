#include "probe/report.h"

#include <unistd.h>

#include "base/sys.h"

static void write_line(const rk_subject *s, rk_buf *line) {
    rk_buf_add_byte(line, '\n');
    const uint8_t *at = line->data;
    size_t left = line->failed ? 0 : line->len;
    while (left > 0) {
        ssize_t written = write(s->out_fd, at, left);
        if (written <= 0)
            return; // the reader is gone
        at += written;
        left -= (size_t)written;
    }
}

void rk_report_set(const rk_subject *s, const rk_buf *members) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    rk_buf_add_text(&line, "{\"set\":{");
    rk_buf_add_span(&line, rk_buf_span(members));
    rk_buf_add_text(&line, "}}");
    write_line(s, &line);
}

static void write_begin(const rk_subject *s, const char *name) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    rk_json json = rk_json_on(&line);
    rk_json_begin_object(&json);
    rk_json_member_string(&json, "begin", name);
    rk_json_end_object(&json);
    write_line(s, &line);
}

bool rk_report_step(rk_subject *s, const char *name, rk_step *step) {
    write_begin(s, name);
    RK_AUTO(rk_buf) detail = RK_BUF_INIT(0);
    uint64_t start_ns = rk_monotonic_ns();
    rk_err *err = step(s, &detail);
    uint64_t took_ns = rk_monotonic_ns() - start_ns;
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    rk_json json = rk_json_on(&line);
    rk_json_begin_object(&json);
    rk_json_key(&json, "end");
    rk_json_begin_object(&json);
    rk_json_member_string(&json, "name", name);
    rk_json_member_bool(&json, "ok", !err);
    rk_json_member_seconds(&json, "seconds", took_ns);
    rk_json_member_text(&json, "detail", rk_buf_span(&detail));
    if (err) {
        rk_json_member_uint(&json, "code", (uint64_t)rk_err_code(err));
        rk_json_member_string(&json, "error", rk_err_message(err));
    }
    rk_json_end_object(&json);
    rk_json_end_object(&json);
    write_line(s, &line);
    bool ok = !err;
    rk_err_free(err);
    return ok;
}
