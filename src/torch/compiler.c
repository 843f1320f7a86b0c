#include "torch/compiler.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/fs.h"

enum { CHUNK_BYTES = 64 << 10, MOST_BYTES = 32 << 20, SHOWN_DIGITS = 12 };

// Programs that call the compiler of the same name, and do not change what it makes.
static bool is_wrapper(const char *path, size_t len) {
    static const char *const names[] = {"ccache", "distcc", "sccache", "icecc"};
    const char *slash = memrchr(path, '/', len);
    const char *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++)
        if (rk_span_is(rk_span_of(name, len - (size_t)(name - path)), names[i]))
            return true;
    return false;
}

static bool resolve(const char *file, char out_file[PATH_MAX]) {
    return rk_sys()->eaccess_fn(file, X_OK) == 0 && realpath(file, out_file) &&
           !is_wrapper(out_file, strlen(out_file));
}

// Finds the file of a command, without links. False if there is none.
static bool find(const char *command, size_t len, const char *path, char out_file[PATH_MAX]) {
    const char *slash = memrchr(command, '/', len);
    if (slash) {
        rk_autofree char *name = rk_strndup(command, len);
        if (name && resolve(name, out_file))
            return true;
        len -= (size_t)(slash + 1 - command); // "/usr/lib/ccache/g++" runs the next g++
        command = slash + 1;
    }
    for (const char *at = path; at && *at;) {
        size_t part = strcspn(at, ":");
        RK_AUTO(rk_buf) file = {0};
        rk_buf_add_format(&file, "%.*s/%.*s", (int)part, at, (int)len, command);
        if (!file.failed && part && resolve(rk_buf_text(&file), out_file))
            return true;
        at += part + (at[part] == ':');
    }
    return false;
}

// Digests the file. The driver of gcc and clang contains its version.
static bool digest_of(const char *path, rk_digest *out_digest) {
    static const size_t chunk_bytes = CHUNK_BYTES;
    rk_autofd fd = rk_fd_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0);
    rk_autofree uint8_t *chunk = rk_malloc(chunk_bytes);
    struct stat info;
    rk_hasher hasher;
    size_t got = chunk_bytes;
    if (fd < 0 || !chunk || rk_sys()->fstat_fn(fd, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
    rk_hasher_init(&hasher);
    for (uint64_t offset = 0; got == chunk_bytes && offset < MOST_BYTES; offset += got) {
        if (!rk_fd_read_at(fd, offset, chunk, chunk_bytes, &got))
            return false;
        rk_hasher_add(&hasher, chunk, got);
    }
    rk_hasher_finish(&hasher, out_digest);
    return true;
}

rk_err *rk_torch_compiler_add(const char *command, const char *path, rk_buf *out) {
    // CXX may hold options, and a wrapper before the compiler: "ccache g++ -O2".
    size_t len = strcspn(command, " \t");
    if (is_wrapper(command, len)) {
        command += len + strspn(command + len, " \t");
        len = strcspn(command, " \t");
    }
    char file[PATH_MAX];
    rk_digest digest;
    if (!find(command, len, path, file) || !digest_of(file, &digest)) {
        rk_buf_add_text(out, "none");
    } else {
        char hex[RK_DIGEST_HEX_CHARS + 1];
        rk_digest_to_hex(&digest, hex);
        rk_buf_add_format(out, "%s %.*s", strrchr(file, '/') + 1, SHOWN_DIGITS, hex);
    }
    return rk_buf_status(out);
}
