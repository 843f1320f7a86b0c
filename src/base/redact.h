// Takes secrets out of what is recorded: command lines and messages. It would rather hide too much
// than show a password.
#pragma once

#include "base/buf.h"

typedef struct rk_redactor {
    bool next_is_secret; // the argument before was an option like --token
    bool next_is_login;  // the word before was an option like -u: its value may be "user:password"
    bool next_is_password; // the word before was a client's option like -p
    unsigned clients;      // the programs named so far whose short options are known
} rk_redactor;

// Appends one argument of a command line; arguments come in order, with one zeroed redactor for
// all.
// "***" stands for: the value of an option or assignment whose name looks like a secret's (--token
// X,
// --password=X, api_key=X, "secret": "X"), the "user:password" of an address, words that look
// like known kinds of tokens, the password of -u user:password, and short options that are
// passwords of a client named before them (mysql -pX, redis-cli -a X, docker login -p X), also in
// "sh -c '…'". Thread-safe apart from the redactor.
void rk_redact_argument(rk_redactor *redactor, rk_span argument, rk_buf *out);

// Appends free text, such as a message, without addresses' passwords and secrets assigned in it.
void rk_redact_text(rk_span text, rk_buf *out);
