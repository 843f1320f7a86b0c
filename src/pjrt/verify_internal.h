// Sampled verification (REKINDLE_VERIFY): compiles some hits once more, in the background, and
// compares the new executable with the loaded one. Used only inside src/pjrt.
#pragma once

#include "pjrt/request_internal.h"

// Records the entry that a request is about to load. Called only if there is a verifier.
RK_HIDDEN void rk_verify_note(rk_request *r, const rk_entry *entry);

// Called after a hit. Chooses at random whether to verify it. Costs one branch if the setting is 0.
RK_HIDDEN void rk_verify_hit(rk_request *r);
