// The generator of the man pages, which the build runs: writes rekindle.1 and rekindle-COMMAND.1.
//
// usage: rekindle_man FOLDER DATE
#include <stdio.h>

#include "cli/fail.h"
#include "cli/man.h"
#include "cli/verbs.h"

// Writes one page into the folder. Returns false if that failed; the reason is on stderr.
static bool write_page(const char *folder, const char *name, const rk_buf *page) {
    RK_AUTO(rk_buf) path = RK_BUF_INIT(0);
    rk_buf_add_format(&path, "%s/%s.1", folder, name);
    FILE *file = fopen(rk_need_text(&path), "we");
    bool written = file && fputs(rk_need_text(page), file) >= 0;
    written = file && fclose(file) == 0 && written;
    if (!written)
        perror(rk_need_text(&path));
    return written;
}

static bool write_verb(const char *folder, const rk_verb *verb, const char *date) {
    RK_AUTO(rk_buf) name = RK_BUF_INIT(0), page = RK_BUF_INIT(0);
    rk_buf_add_format(&name, "rekindle-%s", verb->usage->verb);
    rk_man_add_verb(verb, date, &page);
    return write_page(folder, rk_need_text(&name), &page);
}

int main(int argc, char **argv) {
    RK_AUTO(rk_buf) page = RK_BUF_INIT(0);
    if (argc != 3) {
        (void)fputs("usage: rekindle_man FOLDER DATE\n", stderr);
        return RK_EXIT_USAGE;
    }
    rk_man_add_overview(&rk_verbs, argv[2], &page);
    bool written = write_page(argv[1], "rekindle", &page);
    for (size_t i = 0; i < rk_verbs.count && written; i++)
        written = write_verb(argv[1], rk_verbs.items[i], argv[2]);
    return written ? RK_EXIT_OK : RK_EXIT_FAILED;
}
