// The folders of packages of a Python, found without starting it: by the layout of its
// installation.
#pragma once

#include "base/buf.h"

enum { RK_PYTHON_FILE_MAX_BYTES = 64 << 10 };

typedef struct rk_python_where {
    const char *python;      // path of the interpreter; its links are not resolved
    const char *python_path; // PYTHONPATH; or NULL
    const char *home;        // for packages of the user; or NULL
} rk_python_where;

// Looks for a package in one folder, such as a site-packages. `version` is that of the Python:
// "3.11", "3.13t", or "3" if it is not known. `*out_found` is false before the call.
typedef rk_err *(*rk_python_look_fn)(void *context, const char *folder, const char *version,
                                     bool *out_found);

// Calls `look` for the folders in which that Python looks for packages, in its order, until one has
// the package. `*out_found` is false if none has, or if it cannot be told. Fails only with
// RK_RESOURCE_EXHAUSTED, or with an error of `look`.
RK_NODISCARD rk_err *rk_python_packages_search(const rk_python_where *where, rk_python_look_fn look,
                                               void *context, bool *out_found);

// Reads a small file of a package; links are followed. Appends nothing if it cannot be read. The
// limit of `out` must be above RK_PYTHON_FILE_MAX_BYTES.
RK_NODISCARD rk_err *rk_python_read_text(const char *folder, const char *name, rk_buf *out);

// Takes the text in quotes after `name =` or `name: Optional[str] =`, at the start of a line. ""
// for None, and if there is no such line. `*out_value` is owned: rk_free.
RK_NODISCARD rk_err *rk_python_take_value(const char *text, const char *name, char **out_value);
