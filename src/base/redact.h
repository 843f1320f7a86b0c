// Removes secrets from recorded command lines and messages. If it is unclear whether text is
// secret, the text is removed.
#pragma once

#include "base/buf.h"

typedef struct rk_redactor {
    bool next_may_be_word; // of a secret: it was an option for several keys, such as --keys
    bool next_is_secret;   // the previous argument was an option such as --token
    bool next_is_login;    // the previous word was an option such as -u, for "user:password"
    bool next_is_password; // the previous word was a client's password option such as -p
    unsigned clients;      // bits: the known programs named so far (see redact.c)
} rk_redactor;

// Appends one argument of a command line. Pass all arguments in order, with one redactor that is
// zero at the start. "***" replaces
// - the value of an option or assignment, if its name looks like the name of a secret: --token X,
//   --password=X, api_key=X, "secret": "X". A short
//   lower-case word or number after --keys stays: it is a setting;
// - the "user:password" of an address;
// - words that look like known kinds of tokens;
// - the password in -u user:password;
// - the value of a short password option, if a known client program comes before it: mysql -pX,
//   redis-cli -a X, docker login -p X; also within "sh -c '…'".
// Thread-safe if each thread has its own redactor.
void rk_redact_argument(rk_redactor *redactor, rk_span argument, rk_buf *out);

// Appends free text, such as a message. "***" replaces logins in addresses, values assigned to
// secrets, and words that look like known kinds of tokens.
void rk_redact_text(rk_span text, rk_buf *out);
