#include "identity/plugin_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>

#include "base/alloc.h"
#include "base/tree.h"

enum {
    CHUNK_BYTES = 1 << 20,
    MAX_SEGMENTS = 256,
    MAX_REMEMBERED = 16, // plugins in one process
    MAX_MEMO_BYTES = 1024,
    SETTLED_SECONDS = 5, // a younger file may change again without a new time stamp
};

// A file is unchanged if all these values are equal. No program can set ctime.
typedef struct file_id {
    uint64_t device, inode, size, mtime_ns, ctime_ns;
} file_id;

typedef struct memory {
    file_id id;
    rk_digest digest;
} memory;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static memory remembered[MAX_REMEMBERED];
static size_t remembered_count;

static uint64_t nanoseconds(struct timespec time) {
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static bool same_file(const file_id *a, const file_id *b) {
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

static rk_err *identify(int fd, const char *path, file_id *out_id) {
    struct stat info;
    if (rk_sys()->fstat_fn(fd, &info) != 0)
        return rk_error_errno(errno, "cannot stat %s", path);
    if (!S_ISREG(info.st_mode))
        return rk_error(RK_FAILED_PRECONDITION, "%s is not a regular file", path);
    *out_id = (file_id){
        .device = info.st_dev,
        .inode = info.st_ino,
        .size = (uint64_t)info.st_size,
        .mtime_ns = nanoseconds(info.st_mtim),
        .ctime_ns = nanoseconds(info.st_ctim),
    };
    return NULL;
}

static bool recall(const file_id *id, rk_digest *out_digest) {
    bool found = false;
    (void)pthread_mutex_lock(&lock);
    for (size_t i = 0; i < remembered_count && !found; i++) {
        found = same_file(&remembered[i].id, id);
        if (found)
            *out_digest = remembered[i].digest;
    }
    (void)pthread_mutex_unlock(&lock);
    return found;
}

static void remember(const file_id *id, const rk_digest *digest) {
    (void)pthread_mutex_lock(&lock);
    if (remembered_count < MAX_REMEMBERED)
        remembered[remembered_count++] = (memory){*id, *digest};
    (void)pthread_mutex_unlock(&lock);
}

// Writes the memo, one line: the file's identity, its digest, and a digest over both, which detects
// a damaged memo.
static void write_memo_line(const file_id *id, const rk_digest *digest, rk_buf *out) {
    rk_digest check;
    rk_buf_add_format(out, "rekindle plugin 1 %llu %llu %llu %llu %llu ",
                      (unsigned long long)id->device, (unsigned long long)id->inode,
                      (unsigned long long)id->size, (unsigned long long)id->mtime_ns,
                      (unsigned long long)id->ctime_ns);
    rk_buf_add_hex(out, rk_digest_span(digest));
    rk_digest_of(rk_buf_span(out), &check);
    rk_buf_add_byte(out, ' ');
    rk_buf_add_hex(out, rk_digest_span(&check));
    rk_buf_add_byte(out, '\n');
}

static const char memo_folder[] = "plugins";

// Appends the memo's path relative to the store.
static void add_memo_path(const file_id *id, rk_buf *out) {
    rk_buf_add_format(out, "%s/plugin-%llx-%llx", memo_folder, (unsigned long long)id->device,
                      (unsigned long long)id->inode);
}

static bool recall_memo(const char *store, const char *path, const file_id *id,
                        rk_digest *out_digest) {
    RK_AUTO(rk_buf) found = RK_BUF_INIT(MAX_MEMO_BYTES);
    RK_AUTO(rk_buf) expected = RK_BUF_INIT(MAX_MEMO_BYTES);
    rk_err *err = rk_tree_read(store, path, MAX_MEMO_BYTES, &found);
    if (err) {
        rk_err_drop(err, "without a memo the digest is computed");
        return false;
    }
    // The digest is the second to last word. A new line with it must equal the line found.
    size_t tail = 2 * RK_DIGEST_HEX_CHARS + 2;
    if (found.len < tail ||
        !rk_digest_from_hex(rk_span_of(found.data + found.len - tail, RK_DIGEST_HEX_CHARS),
                            out_digest))
        return false;
    write_memo_line(id, out_digest, &expected);
    return rk_span_equal(rk_buf_span(&found), rk_buf_span(&expected));
}

static void keep_memo(const char *store, const char *path, const file_id *id,
                      const rk_digest *digest) {
    if (rk_realtime_ns() < id->ctime_ns + (uint64_t)SETTLED_SECONDS * 1000000000)
        return;
    RK_AUTO(rk_buf) line = RK_BUF_INIT(MAX_MEMO_BYTES);
    write_memo_line(id, digest, &line);
    rk_err *err = rk_tree_make_dirs(store, memo_folder);
    if (!err)
        err = rk_tree_publish(store, path, line.data, line.len, 0600);
    rk_err_drop(err, "the next process computes the digest again");
}

static rk_err *read_some(int fd, const char *path, uint8_t *chunk, size_t len, size_t *out_got) {
    *out_got = 0;
    while (*out_got < len) {
        ssize_t got = rk_sys()->read_fn(fd, chunk + *out_got, len - *out_got);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return rk_error_errno(errno, "cannot read %s", path);
        if (got == 0)
            break;
        *out_got += (size_t)got;
    }
    return NULL;
}

// Returns the end of the loaded segments of an ELF file, from the file's first bytes. Returns
// `size` if these are not the headers of an ELF file with this machine's word size.
static uint64_t loaded_end(const uint8_t *data, size_t len, uint64_t size) {
    ElfW(Ehdr) header;
    uint64_t end = 0;
    if (len < sizeof header)
        return size;
    memcpy(&header, data, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr)) ||
        header.e_phnum > MAX_SEGMENTS || header.e_phoff > len ||
        header.e_phnum * sizeof(ElfW(Phdr)) > len - header.e_phoff)
        return size;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        ElfW(Phdr) segment;
        memcpy(&segment, data + header.e_phoff + i * sizeof segment, sizeof segment);
        uint64_t stop = segment.p_offset + segment.p_filesz;
        if (segment.p_type == PT_LOAD && stop >= segment.p_offset && stop > end)
            end = stop;
    }
    return end && end < size ? end : size;
}

static rk_err *compute(int fd, const char *path, uint64_t size, rk_digest *out_digest) {
    rk_autofree uint8_t *chunk = rk_malloc(CHUNK_BYTES);
    rk_hasher hasher;
    if (!chunk)
        return rk_err_no_memory();
    rk_hasher_init(&hasher);
    uint64_t end = CHUNK_BYTES;
    for (uint64_t at = 0; at < end;) {
        size_t want = end - at < CHUNK_BYTES ? (size_t)(end - at) : CHUNK_BYTES, got;
        RK_TRY(read_some(fd, path, chunk, want, &got));
        if (at == 0)
            end = loaded_end(chunk, got, size);
        if (got > end - at)
            got = (size_t)(end - at);
        rk_hasher_add(&hasher, chunk, got);
        at += got;
        if (got == 0 || (got < want && at < end))
            return rk_error(RK_DATA_LOSS, "%s became shorter while it was read", path);
    }
    rk_hasher_finish(&hasher, out_digest);
    return NULL;
}

rk_err *rk_plugin_digest(const char *path, const char *memo_store, rk_digest *out_digest) {
    file_id id;
    RK_AUTO(rk_buf) memo = {0};
    rk_autofd fd = rk_sys()->open_fn(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd < 0)
        return rk_error_errno(errno, "cannot open the plugin %s", path);
    RK_TRY(identify(fd, path, &id));
    if (recall(&id, out_digest))
        return NULL;
    if (memo_store && *memo_store)
        add_memo_path(&id, &memo);
    bool may_know = memo.len && !memo.failed;
    bool known = may_know && recall_memo(memo_store, rk_buf_text(&memo), &id, out_digest);
    if (!known)
        RK_TRY(compute(fd, path, id.size, out_digest));
    remember(&id, out_digest);
    if (may_know && !known)
        keep_memo(memo_store, rk_buf_text(&memo), &id, out_digest);
    return NULL;
}
