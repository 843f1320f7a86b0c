#include "cli/term.h"

#include <inttypes.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/sys.h"
#include "cli/text.h"

#define NS_PER_MS UINT64_C(1000000)

static bool has_colour(FILE *out) {
    const char *no_color = getenv("NO_COLOR"); // https://no-color.org: any value but an empty one
    const char *term = getenv("TERM");
    return isatty(fileno(out)) && !(no_color && no_color[0]) && term && strcmp(term, "dumb") != 0;
}

const char *rk_style(rk_style_name style, FILE *out) {
    static const char *const sequences[] = {"\x1b[0m",  "\x1b[1m",  "\x1b[2m",
                                            "\x1b[32m", "\x1b[33m", "\x1b[31m"};
    return has_colour(out) ? sequences[style] : "";
}

size_t rk_term_columns(FILE *out) {
    struct winsize size;
    if (!isatty(fileno(out)))
        return 0;
    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

const char *rk_term_ellipsis(void) {
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? "…" : "~";
}

// Prints one paragraph of `len` bytes, and a newline.
static void print_paragraph(const char *text, size_t len, size_t indent, size_t columns,
                            FILE *out) {
    size_t column = indent;
    const char *end = text + len;
    bool first = true;
    while (text < end) {
        const char *blank = memchr(text, ' ', (size_t)(end - text));
        size_t word_len = (size_t)((blank ? blank : end) - text);
        RK_AUTO(rk_buf) word = RK_BUF_INIT(0);
        rk_buf_add(&word, text, word_len);
        size_t width = rk_text_width(rk_buf_text(&word));
        if (!first && column + 1 + width > columns) {
            (void)fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
            first = true;
        }
        (void)fprintf(out, "%s%s", first ? "" : " ", rk_buf_text(&word));
        column += width + (first ? 0 : 1);
        first = false;
        text += word_len + (blank ? 1 : 0);
    }
    (void)fputc('\n', out);
}

void rk_term_print_wrapped(const char *text, size_t indent, size_t columns, FILE *out) {
    while (*text) {
        size_t len = strcspn(text, "\n");
        if (*text == ' ')
            (void)fprintf(out, "%.*s\n", (int)len, text);
        else
            print_paragraph(text, len, indent, columns, out);
        text += len + (text[len] ? 1 : 0);
    }
}

rk_progress rk_progress_start(const char *what) {
    uint64_t now = isatty(STDERR_FILENO) ? rk_monotonic_ns() : 0;
    return (rk_progress){what, now, now};
}

void rk_progress_step(rk_progress *progress, uint64_t done, uint64_t all) {
    if (progress->start_ns == 0)
        return;
    uint64_t now = rk_monotonic_ns();
    if (now - progress->start_ns < 500 * NS_PER_MS || now - progress->shown_ns < 100 * NS_PER_MS)
        return;
    progress->shown_ns = now;
    (void)fprintf(stderr, "\r%s: %" PRIu64 " of %" PRIu64 "\x1b[K", progress->what, done, all);
    (void)fflush(stderr);
}

void rk_progress_end(rk_progress *progress) {
    if (progress->shown_ns != progress->start_ns)
        (void)fputs("\r\x1b[K", stderr);
    progress->start_ns = 0;
}
