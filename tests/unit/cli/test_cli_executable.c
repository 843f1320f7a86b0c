#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "cli/executable.h"
#include "cli/unseen.h"
#include "support/cmocka.h"
#include "support/tempdir.h"

// The parts of a program that the code under test reads.
typedef struct image {
    Elf64_Ehdr header;
    Elf64_Phdr segments[2];
    Elf64_Shdr sections[2];
    char loader[32];
    Elf64_Dyn dynamic[2];
    Elf64_Sym symbols[2];
    char names[16];
} image;

static image make_image(void) {
    image made = {
        .header = {.e_type = ET_DYN,
                   .e_phoff = offsetof(image, segments),
                   .e_shoff = offsetof(image, sections),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_phnum = 2,
                   .e_shentsize = sizeof(Elf64_Shdr),
                   .e_shnum = 2},
        .segments = {{.p_type = PT_INTERP,
                      .p_offset = offsetof(image, loader),
                      .p_filesz = sizeof made.loader},
                     {.p_type = PT_DYNAMIC,
                      .p_offset = offsetof(image, dynamic),
                      .p_filesz = sizeof made.dynamic}},
        .sections = {{.sh_type = SHT_DYNSYM,
                      .sh_offset = offsetof(image, symbols),
                      .sh_size = sizeof made.symbols,
                      .sh_link = 1},
                     {.sh_type = SHT_STRTAB,
                      .sh_offset = offsetof(image, names),
                      .sh_size = sizeof made.names}},
        .loader = "/lib64/ld-linux-x86-64.so.2",
        .dynamic = {{.d_tag = DT_NEEDED}, {.d_tag = DT_NULL}},
        .symbols = {{0}, {.st_name = 1, .st_shndx = SHN_UNDEF}},
        .names = "\0GetPjrtApi",
    };
    memcpy(made.header.e_ident, ELFMAG, SELFMAG);
    made.header.e_ident[EI_CLASS] = ELFCLASS64;
#if defined(__x86_64__)
    made.header.e_machine = EM_X86_64;
#else
    made.header.e_machine = EM_AARCH64;
#endif
    return made;
}

static char *directory;

static int begin(void **state) {
    (void)state;
    directory = rk_test_tempdir();
    return 0;
}

static int end(void **state) {
    (void)state;
    rk_test_tempdir_remove(directory);
    return 0;
}

// Writes an executable file. Owned: rk_free.
static char *write_program(const void *data, size_t len) {
    RK_AUTO(rk_buf) path = RK_BUF_INIT(0);
    rk_buf_add_format(&path, "%s/program", directory);
    rk_autofd fd = open(rk_buf_text(&path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    assert_true(fd >= 0);
    rk_autoerr err = rk_fd_write_all(fd, data, len);
    assert_null(err);
    return rk_strdup(rk_buf_text(&path));
}

static rk_executable look_at(const void *data, size_t len) {
    rk_autofree char *path = write_program(data, len);
    rk_executable found;
    rk_executable_look(path, &found);
    return found;
}

static rk_executable look(const image *made) {
    return look_at(made, sizeof *made);
}

static void a_program_is_read(void **state) {
    (void)state;
    image made = make_image();
    rk_executable found = look(&made);
    assert_int_equal(found.kind, RK_EXECUTABLE_ELF);
    assert_true(found.calls_get_api && !found.is_static && !found.is_musl);
    made.symbols[1].st_shndx = 1;
    assert_false(look(&made).calls_get_api);
    memcpy(made.loader, "/lib/ld-musl-x86_64.so.1", 25);
    assert_true(look(&made).is_musl);
    made.segments[0].p_type = PT_NULL;
    assert_true(look(&made).is_static);
    made.dynamic[0].d_tag = DT_SONAME; // a loader that is started as a program
    assert_false(look(&made).is_static);
}

static void other_machines_are_recognised(void **state) {
    (void)state;
    image made = make_image();
    made.header.e_machine = EM_S390;
    assert_int_equal(look(&made).kind, RK_EXECUTABLE_ELF_FOREIGN);
    made.header.e_ident[EI_CLASS] = ELFCLASS32;
    assert_int_equal(look(&made).kind, RK_EXECUTABLE_ELF_32);
}

static void a_damaged_program_shows_nothing(void **state) {
    (void)state;
    for (size_t len = 0; len <= sizeof(image); len++) {
        image whole = make_image();
        rk_executable found = look_at(&whole, len);
        assert_false(found.is_static || found.is_musl);
        assert_true(found.kind ==
                    (len < sizeof(Elf64_Ehdr) ? RK_EXECUTABLE_OTHER : RK_EXECUTABLE_ELF));
    }
    static const uint64_t values[] = {0, 3, 0xffff, UINT64_MAX};
    for (size_t at = SELFMAG; at + sizeof values[0] <= offsetof(image, loader); at += 2) {
        for (size_t i = 0; i < RK_ARRAY_LEN(values); i++) {
            image made = make_image();
            memcpy((char *)&made + at, &values[i], sizeof values[i]);
            rk_executable found = look(&made); // any result, but no read out of bounds
            rk_executable_cleanup(&found);
        }
    }
    image made = make_image();
    made.symbols[1].st_name = sizeof made.names;
    assert_false(look(&made).calls_get_api);
}

static void expect_line(const char *text, const char *expected) {
    rk_executable found = look_at(text, strlen(text));
    assert_int_equal(found.kind, RK_EXECUTABLE_SCRIPT);
    assert_string_equal(rk_buf_text(&found.first_line), expected);
    rk_executable_cleanup(&found);
}

static void a_script_says_what_runs_it(void **state) {
    (void)state;
    expect_line("#!/bin/sh -e\necho these are more than sixteen bytes\n", "/bin/sh -e");
    expect_line("#! /usr/bin/env python3", " /usr/bin/env python3");
    expect_line("#!/bin/sh\n", "/bin/sh");
    rk_executable nothing = look_at("#!\n", 3);
    assert_int_equal(nothing.kind, RK_EXECUTABLE_OTHER);
    rk_executable_cleanup(&nothing);
}

static void what_cannot_be_found_has_no_reason(void **state) {
    (void)state;
    RK_AUTO(rk_buf) out = RK_BUF_INIT(0);
    static const char *const commands[] = {"", "/", "/nowhere/at/all", "no-such-command-anywhere",
                                           "/bin/sh"};
    for (size_t i = 0; i < RK_ARRAY_LEN(commands); i++)
        assert_false(rk_unseen_add_reason(commands[i], &out));
    assert_int_equal(out.len, 0);
}

// A script that is its own interpreter. The kernel refuses it.
static void scripts_do_not_go_on_for_ever(void **state) {
    (void)state;
    RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
    RK_AUTO(rk_buf) out = RK_BUF_INIT(0);
    rk_buf_add_format(&text, "#!%s/program\n", directory);
    rk_autofree char *path = write_program(text.data, text.len);
    assert_false(rk_unseen_add_reason(path, &out));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_is_read),
        cmocka_unit_test(other_machines_are_recognised),
        cmocka_unit_test(a_damaged_program_shows_nothing),
        cmocka_unit_test(a_script_says_what_runs_it),
        cmocka_unit_test(what_cannot_be_found_has_no_reason),
        cmocka_unit_test(scripts_do_not_go_on_for_ever),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
