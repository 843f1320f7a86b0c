// Errors and exit statuses of the command line.
//
// The command line is a separate process with one thread. So, unlike in the libraries, code here
// may print, set the locale and end the process.
#pragma once

#include "base/alloc.h"
#include "base/buf.h"

enum {
    RK_EXIT_OK = 0,
    RK_EXIT_FAILED = 1,       // the request was valid but failed, or a check failed
    RK_EXIT_USAGE = 2,        // wrong usage or settings
    RK_EXIT_NO_PROCESS = 125, // `run`: no process could be made; this and the next two as env(1)
    RK_EXIT_NOT_EXECUTABLE = 126, // `run`: the command exists but cannot be executed
    RK_EXIT_NOT_FOUND = 127,      // `run`: the command does not exist
};

// Prints the error on stderr. Consumes `err`. Returns the exit status for its code: RK_EXIT_USAGE
// if the user can fix the problem with another request or setting, else RK_EXIT_FAILED.
RK_NODISCARD int rk_fail_print(rk_err *err);

// Sets text that the next rk_fail_print prints below its line, such as a list to choose from.
void rk_fail_set_details(const char *text);
bool rk_fail_has_details(void);

// Ends the process with a message if `ptr` is NULL, because memory ran out. Otherwise returns it.
void *rk_need(void *ptr);
// Returns the text of a buffer, borrowed from it. Ends the process if an append to it failed.
const char *rk_need_text(const rk_buf *buf);
