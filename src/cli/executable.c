#include "cli/executable.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/sys.h"

enum {
    MAX_SEGMENTS = 256,
    MAX_SECTIONS = 4096,
    MAX_TABLE_BYTES = 64 << 20, // of symbols or their names
    MAX_LINE_BYTES = 255,       // the kernel reads this much of a script
};

#if defined(__x86_64__)
enum { OWN_MACHINE = EM_X86_64 };
#else
enum { OWN_MACHINE = EM_AARCH64 };
#endif

void rk_executable_cleanup(rk_executable *executable) {
    rk_buf_cleanup(&executable->first_line);
}

static bool read_at(int fd, uint64_t offset, void *out, size_t len) {
    return offset <= INT64_MAX && rk_sys()->pread_fn(fd, out, len, (off_t)offset) == (ssize_t)len;
}

// Returns the bytes of a table and a final NUL. Owned: rk_free. NULL if the table is empty, too
// large or unreadable.
static uint8_t *read_table(int fd, uint64_t offset, uint64_t len) {
    if (len == 0 || len > MAX_TABLE_BYTES)
        return NULL;
    uint8_t *table = rk_malloc((size_t)len + 1);
    if (table && !read_at(fd, offset, table, (size_t)len)) {
        rk_free(table);
        return NULL;
    }
    if (table)
        table[len] = '\0';
    return table;
}

static void look_at_loader(int fd, const Elf64_Phdr *segment, rk_executable *out) {
    rk_autofree uint8_t *path = read_table(fd, segment->p_offset, segment->p_filesz);
    out->is_musl = path && strstr((const char *)path, "/ld-musl-");
}

// A loader needs no loader either, but it has a library name.
static bool has_library_name(int fd, const Elf64_Phdr *segment) {
    rk_autofree uint8_t *table = read_table(fd, segment->p_offset, segment->p_filesz);
    for (size_t at = 0; table && at + sizeof(Elf64_Dyn) <= segment->p_filesz;
         at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn entry;
        memcpy(&entry, table + at, sizeof entry);
        if (entry.d_tag == DT_SONAME)
            return true;
    }
    return false;
}

static void look_at_segments(int fd, const Elf64_Ehdr *header, rk_executable *out) {
    bool has_loader = false, is_library = false;
    if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum > MAX_SEGMENTS)
        return;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr segment;
        if (!read_at(fd, header->e_phoff + i * sizeof segment, &segment, sizeof segment))
            return;
        if (segment.p_type == PT_INTERP) {
            has_loader = true;
            look_at_loader(fd, &segment, out);
        } else if (segment.p_type == PT_DYNAMIC) {
            is_library = has_library_name(fd, &segment);
        }
    }
    out->is_static = header->e_phnum > 0 && !has_loader && !is_library;
}

static bool imports_get_api(const uint8_t *symbols, uint64_t symbols_len, const uint8_t *names,
                            uint64_t names_len) {
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols_len; at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, symbols + at, sizeof symbol);
        if (symbol.st_shndx == SHN_UNDEF && symbol.st_name < names_len &&
            strcmp((const char *)names + symbol.st_name, "GetPjrtApi") == 0)
            return true;
    }
    return false;
}

static void look_at_symbols(int fd, const Elf64_Ehdr *header, rk_executable *out) {
    if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shnum > MAX_SECTIONS)
        return;
    for (unsigned i = 0; i < header->e_shnum; i++) {
        Elf64_Shdr section, strings;
        if (!read_at(fd, header->e_shoff + i * sizeof section, &section, sizeof section))
            return;
        if (section.sh_type != SHT_DYNSYM || section.sh_link >= header->e_shnum ||
            !read_at(fd, header->e_shoff + section.sh_link * sizeof strings, &strings,
                     sizeof strings))
            continue;
        rk_autofree uint8_t *symbols = read_table(fd, section.sh_offset, section.sh_size);
        rk_autofree uint8_t *names = read_table(fd, strings.sh_offset, strings.sh_size);
        out->calls_get_api =
            symbols && names && imports_get_api(symbols, section.sh_size, names, strings.sh_size);
        return;
    }
}

// Returns false if the file is no script.
static bool look_at_script(int fd, rk_executable *out) {
    char text[MAX_LINE_BYTES + 1] = {0};
    ssize_t got = rk_sys()->pread_fn(fd, text, MAX_LINE_BYTES, 0);
    if (got < 2 || text[0] != '#' || text[1] != '!')
        return false;
    rk_buf_add(&out->first_line, text + 2, strcspn(text + 2, "\n"));
    if (rk_buf_text(&out->first_line)[0])
        out->kind = RK_EXECUTABLE_SCRIPT;
    return true;
}

void rk_executable_look(const char *path, rk_executable *out) {
    *out = (rk_executable){0};
    rk_autofd fd = rk_sys()->open_fn(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    Elf64_Ehdr header;
    unsigned char *start = header.e_ident;
    if (fd < 0 || look_at_script(fd, out) || !read_at(fd, 0, start, EI_NIDENT) ||
        memcmp(start, ELFMAG, SELFMAG) != 0)
        return;
    if (start[EI_CLASS] == ELFCLASS32) {
        out->kind = RK_EXECUTABLE_ELF_32;
    } else if (read_at(fd, 0, &header, sizeof header)) {
        out->kind = header.e_machine == OWN_MACHINE ? RK_EXECUTABLE_ELF : RK_EXECUTABLE_ELF_FOREIGN;
        look_at_segments(fd, &header, out);
        look_at_symbols(fd, &header, out);
    }
}
