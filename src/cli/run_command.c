#include "cli/run_command.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/redact.h"
#include "base/sys.h"
#include "cli/command_file.h"
#include "cli/fail.h"
#include "cli/out.h"

// The words of a command line; borrowed.
typedef struct words {
    const char **items; // owned
    size_t count;
} words;

// The index of the script in the command line of an interpreter; 0 if there is none.
static size_t find_script(const words *w) {
    size_t i = 1;
    if (w->count == 0 || !rk_command_file_is_python(w->items[0]))
        return 0;
    while (i < w->count && w->items[i][0] == '-') {
        const char *option = w->items[i];
        if (strcmp(option, "-m") == 0 || strcmp(option, "-c") == 0)
            return 0;
        i += strcmp(option, "-X") == 0 || strcmp(option, "-W") == 0 ? 2 : 1;
    }
    return i < w->count ? i : 0;
}

static void add_word(const char *word, rk_redactor *redactor, rk_buf *out) {
    RK_AUTO(rk_buf) shown = RK_BUF_INIT(0);
    rk_redact_argument(redactor, rk_span_text(word), &shown);
    const char *text = rk_need_text(&shown);
    bool bare = text[0] && text[strcspn(text, " \t\n\"'\\$`;&|<>()*")] == '\0';
    bool hidden = strchr(text, '*') && !strchr(text, ' '); // "***" needs no quotes
    const char *quote = bare || hidden ? "" : "'";
    rk_buf_add_format(out, "%s%s%s", quote, text, quote);
}

static void add_words(const words *w, rk_buf *out) {
    rk_redactor redactor = {0};
    RK_AUTO(rk_buf) skipped = RK_BUF_INIT(0);
    size_t first = find_script(w);
    for (size_t i = 0; i < w->count; i++) {
        const char *word = i <= first ? rk_command_file_name(w->items[i]) : w->items[i];
        if (i > first)
            rk_buf_add_byte(out, ' ');
        add_word(word, &redactor, i < first ? &skipped : out);
    }
}

// Reads the first line of a journal.
static void read_line(const char *directory, const char *run, const char *file, rk_buf *out) {
    enum { LINE_MAX_BYTES = 64 << 10 };
    RK_AUTO(rk_buf) path = RK_BUF_INIT(0);
    rk_buf_add_format(&path, "%s/runs/%s/%s", directory, run, file);
    rk_autofd fd =
        rk_sys()->open_fn(rk_need_text(&path), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        return;
    rk_autofree char *text = rk_need(rk_calloc(LINE_MAX_BYTES + 1, 1));
    ssize_t got = rk_sys()->pread_fn(fd, text, LINE_MAX_BYTES, 0);
    if (got > 0)
        rk_buf_add(out, text, strcspn(text, "\n"));
}

void rk_run_command_add_from(const char *directory, const char *run, const char *file,
                             rk_buf *out) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    read_line(directory, run, file, &line);
    json_t *event = rk_out_parsed(rk_buf_span(&line));
    const json_t *argv = json_object_get(event, "argv");
    size_t count = json_array_size(argv);
    words w = {.items = rk_need(rk_calloc(count + 1, sizeof *w.items))};
    for (size_t i = 0; i < count; i++) {
        const char *word = json_string_value(json_array_get(argv, i));
        if (word)
            w.items[w.count++] = word;
    }
    add_words(&w, out);
    rk_free(w.items);
    json_decref(event);
}

void rk_run_command_add(const char *directory, const rk_run_model *run, rk_buf *out) {
    if (run->process_count == 0)
        return;
    const rk_run_process *process = &run->processes[0];
    if (process->argc == 0) {
        rk_run_command_add_from(directory, run->run, process->file, out);
        return;
    }
    words w = {.items = rk_need(rk_calloc(process->argc, sizeof *w.items)), .count = process->argc};
    for (size_t i = 0; i < process->argc; i++)
        w.items[i] = process->argv[i];
    add_words(&w, out);
    rk_free(w.items);
}
