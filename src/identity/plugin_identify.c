#include <limits.h>
#include <link.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "identity/environment.h"

enum { MAX_BUILD_ID_BYTES = 64 };

// Query and result of dl_iterate_phdr's callback. The callback runs under the loader's lock, so it
// allocates nothing.
typedef struct search {
    uintptr_t address;
    bool found;
    char path[PATH_MAX];
    uint8_t build_id[MAX_BUILD_ID_BYTES];
    size_t build_id_len;
} search;

static bool holds(const struct dl_phdr_info *info, uintptr_t address) {
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD &&
            address - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
            return true;
    }
    return false;
}

// Finds the build-id among ELF notes. A note consists of three words (length of the name, length of
// the description, type), the name and the description. Name and description are padded to four
// bytes, for the GNU build-id even in segments aligned to eight.
static void read_notes(rk_span notes, search *s) {
    while (notes.len >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) header;
        memcpy(&header, notes.data, sizeof header);
        size_t name_len = ((size_t)header.n_namesz + 3) & ~(size_t)3;
        size_t description_len = ((size_t)header.n_descsz + 3) & ~(size_t)3;
        size_t left = notes.len - sizeof header;
        if (name_len > left || description_len > left - name_len)
            return;
        const uint8_t *name = notes.data + sizeof header;
        if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 && !memcmp(name, "GNU", 4) &&
            header.n_descsz <= MAX_BUILD_ID_BYTES) {
            memcpy(s->build_id, name + name_len, header.n_descsz);
            s->build_id_len = header.n_descsz;
            return;
        }
        size_t step = sizeof header + name_len + description_len;
        notes = rk_span_of(notes.data + step, notes.len - step);
    }
}

static int visit(struct dl_phdr_info *info, size_t size, void *context) {
    search *s = context;
    (void)size;
    if (!holds(info, s->address))
        return 0;
    s->found = true;
    for (size_t i = 0; info->dlpi_name && info->dlpi_name[i] && i + 1 < sizeof s->path; i++)
        s->path[i] = info->dlpi_name[i];
    for (unsigned i = 0; i < info->dlpi_phnum && !s->build_id_len; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        // A note segment outside the loaded segments is not in memory.
        if (segment->p_type == PT_NOTE && segment->p_memsz && holds(info, start) &&
            holds(info, start + segment->p_memsz - 1))
            read_notes(rk_span_of((const void *)start, segment->p_memsz), s);
    }
    return 1;
}

rk_err *rk_plugin_identify(const void *code_address, char **out_path, char **out_build_id) {
    rk_autofree search *s = rk_calloc(1, sizeof *s);
    RK_AUTO(rk_buf) hex = {0};
    *out_path = *out_build_id = NULL;
    if (!s)
        return rk_err_no_memory();
    s->address = (uintptr_t)code_address;
    (void)dl_iterate_phdr(visit, s);
    if (!s->found)
        return rk_error(RK_NOT_FOUND, "no loaded object contains the address %p", code_address);
    rk_buf_add_hex(&hex, rk_span_of(s->build_id, s->build_id_len));
    // The loader reports an empty name for the main program.
    rk_autofree char *path = rk_strdup(s->path[0] ? s->path : "/proc/self/exe");
    rk_autofree char *build_id = rk_strdup(rk_buf_text(&hex));
    RK_TRY(rk_buf_status(&hex));
    if (!path || !build_id)
        return rk_err_no_memory();
    *out_path = RK_TAKE(path);
    *out_build_id = RK_TAKE(build_id);
    return NULL;
}
