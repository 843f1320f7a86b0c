// The folders that a Python imports packages from.
#pragma once

#include "base/buf.h"

// Starts `python` and appends the folders of its sys.path, each with "\n" at its end: with .pth
// files, PYTHONPATH and the packages of the system, as a script gets them. Appends nothing if this
// Python does not start, fails, or takes more than ten seconds. Does not append the folder of the
// script.
void rk_python_path_ask(const char *python, rk_buf *out);
