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

size_t rk_term_two_screens(FILE *out) {
    enum { DEFAULT_LINES = 24, OTHER_LINES = 5 };
    struct winsize size;
    if (!isatty(fileno(out)))
        return SIZE_MAX;
    size_t lines = ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_row > DEFAULT_LINES
                       ? size.ws_row
                       : DEFAULT_LINES;
    return 2 * lines - OTHER_LINES;
}

rk_page rk_page_start(bool all) {
    return (rk_page){.left = all ? SIZE_MAX : rk_term_two_screens(stdout)};
}

static size_t count_lines(const char *text) {
    size_t count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

bool rk_page_add(rk_page *page, const char *text) {
    size_t lines = count_lines(text);
    bool fits = lines <= page->left;
    if (!fits && page->began) {
        page->left = 0;
        page->hidden++;
        return false;
    }
    if (page->left != SIZE_MAX)
        page->left = fits ? page->left - lines : 0;
    page->began = true;
    (void)fputs(text, stdout);
    return true;
}

const char *rk_term_ellipsis(void) {
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? "…" : "~";
}

static size_t width_of_word(const char *text) {
    RK_AUTO(rk_buf) word = RK_BUF_INIT(0);
    rk_buf_add(&word, text, strcspn(text, " "));
    return rk_text_width(rk_buf_text(&word));
}

void rk_term_wrap(const char *text, size_t at, size_t indent, size_t columns, FILE *out) {
    enum { LEAST_COLUMNS = 10 };
    if (columns == 0 || columns < indent + LEAST_COLUMNS) {
        (void)fprintf(out, "%s\n", text);
        return;
    }
    // The first word goes to the next line if it fits there only.
    if (at > indent && at + width_of_word(text) > columns) {
        (void)fprintf(out, "\n%*s", (int)indent, "");
        at = indent;
    }
    size_t len = rk_text_break(text, columns - at);
    (void)fprintf(out, "%.*s", (int)len, text);
    for (text += len; *(text += strspn(text, " ")); text += len) {
        len = rk_text_break(text, columns - indent);
        (void)fprintf(out, "\n%*s%.*s", (int)indent, "", (int)len, text);
    }
    (void)fputc('\n', out);
}

void rk_term_line(const char *text, size_t indent) {
    rk_term_wrap(text, 0, indent, rk_term_columns(stdout), stdout);
}

void rk_term_print_wrapped(const char *text, size_t indent, size_t columns, FILE *out) {
    while (*text) {
        size_t len = strcspn(text, "\n");
        RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
        rk_buf_add(&line, text, len);
        rk_term_wrap(rk_buf_text(&line), indent, indent, *text == ' ' ? 0 : columns, out);
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
