// A new file that is written, mostly from beginning to end, and appears under its path when it is
// complete; private to src/bundle.
#pragma once

#include <sys/types.h>

#include "base/buf.h"

typedef struct rk_bundle_output {
    int dir_fd, fd;         // owned; -1 if closed
    char *path;             // owned
    rk_buf temporary;       // name of the file until it is published; empty if there is none
    rk_buf pending;         // bytes that are not written yet
    uint64_t bytes;         // of the file so far, those in `pending` included
    uint64_t written_bytes; // of the file
    uint64_t behind_bytes;  // of the file, of which the kernel was told to write them
    bool is_nameless;       // the file has no name until it is published (O_TMPFILE)
} rk_bundle_output;

// Creates a temporary file in the folder of `path`, without a name if the file system can do that,
// so that a killed process leaves nothing. Removes the temporary files of dead processes there.
// RK_FAILED_PRECONDITION if there is something else than a file or a link under `path`. A link is
// replaced, not followed. `out_output` is owned:
// rk_bundle_output_cleanup, also after an error.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_output_begin(const char *path, mode_t mode,
                                                      rk_bundle_output *out_output);
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_output_add(rk_bundle_output *output, rk_span data);
// Adds zeros up to the next multiple of the alignment.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_output_align(rk_bundle_output *output);

// Writes the bytes that are pending.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_output_flush(rk_bundle_output *output);

// Writes `data` anywhere behind what was added, without adding it. Thread-safe, also during the
// other functions.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_output_put(const rk_bundle_output *output, uint64_t offset,
                                                    rk_span data);

// Adds bytes that rk_bundle_output_put has written. They are moved to the end of what was added.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_output_take(rk_bundle_output *output, uint64_t offset,
                                                     uint64_t len);

// Lets the disk begin with the bytes up to `done`, counted from `offset`, if there are enough of
// them since `*behind`, which is then set. Thread-safe.
RK_HIDDEN void rk_bundle_output_write_behind(const rk_bundle_output *output, uint64_t *behind,
                                             uint64_t offset, uint64_t done);

// Removes everything after the first `bytes` of the file.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_output_rewind(rk_bundle_output *output, uint64_t bytes);

// Syncs the file, renames it to its path and syncs the folder.
RK_HIDDEN RK_NODISCARD rk_err *rk_bundle_output_publish(rk_bundle_output *output);

// Removes the temporary file if it was not published. Does nothing to a zeroed struct whose
// descriptors are -1.
RK_HIDDEN void rk_bundle_output_cleanup(rk_bundle_output *output);
