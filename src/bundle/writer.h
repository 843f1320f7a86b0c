// Writes a bundle in one pass. The bundle appears under its path when it is complete and synced;
// until then it is a temporary file in the same folder (base/temporary.h).
//
//     rk_bundle_writer_begin(path, 0600, &head, &writer);
//     rk_bundle_writer_begin_module(writer, "pjrt", NULL);
//     rk_bundle_writer_add(writer, &item, content);
//     rk_bundle_writer_finish(writer, NULL, NULL);
//     rk_bundle_writer_free(writer);
//
// The same calls with the same values write the same bytes, with the same version of zstd. Memory
// does not depend on the size of the contents; the index stays in memory until the end.
//
// Errors: RK_INVALID_ARGUMENT and RK_OUT_OF_RANGE for names and sizes that the format does not
// allow; RK_FAILED_PRECONDITION for a call in the wrong order or after a failed one;
// RK_RESOURCE_EXHAUSTED, or the code for the errno of a system call. After an error, free the
// writer. For one thread, unless a function says otherwise. May block on the file system.
#pragma once

#include <sys/types.h>

#include "bundle/bundle.h"

typedef struct rk_bundle_writer rk_bundle_writer;

// An item to add. All members are borrowed during the call.
typedef struct rk_bundle_new_item {
    rk_span name;
    rk_bundle_pairs attributes; // in any order
    bool is_executable;
    bool is_incompressible; // store the content as it is: it is compressed already
} rk_bundle_new_item;

// Creates the temporary file, with `mode` as for open(2), and writes the header. `path` and `head`
// are borrowed during the call. RK_FAILED_PRECONDITION if `path` is a folder or a device. A
// symbolic link is replaced, not followed. `out_writer` is owned: rk_bundle_writer_free.
RK_NODISCARD rk_err *rk_bundle_writer_begin(const char *path, mode_t mode,
                                            const rk_bundle_head *head,
                                            rk_bundle_writer **out_writer);

// Begins the next module; `attributes` may be NULL. Later items belong to it.
RK_NODISCARD rk_err *rk_bundle_writer_begin_module(rk_bundle_writer *writer, const char *name,
                                                   const rk_bundle_pairs *attributes);

// Adds an item. A content that the bundle contains already is not written again.
RK_NODISCARD rk_err *rk_bundle_writer_add(rk_bundle_writer *writer, const rk_bundle_new_item *item,
                                          rk_span content);

// As rk_bundle_writer_add, with the first `len` bytes of a regular file, read with pread(2). If an
// earlier content has the same length, the file is read twice.
// RK_ABORTED if the file has another length or changes between the two times.
RK_NODISCARD rk_err *rk_bundle_writer_add_fd(rk_bundle_writer *writer,
                                             const rk_bundle_new_item *item, int fd, uint64_t len);

// Files whose contents are stored as they are, and judged while they are written.
typedef struct rk_bundle_files {
    void *context;
    size_t count;
    uint64_t all_bytes; // of all files, as far as it is known
    size_t threads;     // 0: rk_parallel_threads
    // Opens a file for reading; called in order. `*out_fd` is consumed; if it stays -1, the file is
    // left out, and no other function is called for it. The members of `*out_watcher` may be NULL;
    // `is_threaded` is ignored.
    rk_err *(*open)(void *context, size_t index, int *out_fd, uint64_t *out_len,
                    rk_bundle_watcher *out_watcher);
    // Called after each part of any file, one call at a time, to show progress. May be NULL.
    void (*step)(void *context, size_t bytes);
    // Called after the last part of a file, for several files at the same time. May be NULL.
    rk_err *(*judge)(void *context, size_t index);
    // Called in order, one call at a time, after `judge`. Names the item, which is borrowed until
    // the next call. `*out_keep`: false removes the content from the bundle.
    rk_err *(*end)(void *context, size_t index, rk_bundle_new_item *out_item, bool *out_keep);
} rk_bundle_files;

// Adds the files. Each is read once, with pread(2); several are hashed and written at the same
// time. The bundle is the same as if they were added one after the other. RK_ABORTED if a file has
// another length than `open` says.
RK_NODISCARD rk_err *rk_bundle_writer_add_files(rk_bundle_writer *writer,
                                                const rk_bundle_files *files);

// Writes the index and the footer, syncs the file and renames it to its path. Signs if `secret` and
// `public_key` are given; both may be NULL. Checks the index as a reader does: names that conflict
// with each other are refused here. One exception to the rule that nothing stays after an error: if
// only the last step, the sync of the folder, fails, the complete bundle stays.
RK_NODISCARD rk_err *rk_bundle_writer_finish(rk_bundle_writer *writer, const rk_sign_secret *secret,
                                             const rk_sign_public *public_key);

// Bytes written to the file so far, to show progress.
uint64_t rk_bundle_writer_file_bytes(const rk_bundle_writer *writer);

// Frees the writer, and removes the temporary file unless the bundle is finished. NULL is fine.
void rk_bundle_writer_free(rk_bundle_writer *writer);
void rk_bundle_writer_cleanup(rk_bundle_writer **writer);
#define rk_autobundle_writer __attribute__((cleanup(rk_bundle_writer_cleanup))) rk_bundle_writer *
