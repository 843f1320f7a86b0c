// Handing an executable that was just compiled over to be stored, behind the job's back.
#pragma once

#include "pjrt/request.h"

// How long other processes need not wait for a program that was not kept: where that was settled,
// and where it may have been bad luck.
#define RK_SETTLED_NS  (3600 * (uint64_t)1000000000u)
#define RK_BAD_LUCK_NS (10 * (uint64_t)1000000000u)

// Whether anything is stored at all, by this process and for this plugin.
RK_NODISCARD bool rk_publish_is_possible(const rk_request *request);

// The same, and whether this one is worth it.
RK_NODISCARD bool rk_publish_is_wanted(const rk_request *request);

// Takes over the request's flight, and `executable`, which is ours: it is serialized on another
// thread and then destroyed.
void rk_publish(rk_request *request, PJRT_Executable *executable);

// The same for an executable that is the framework's alone, which may destroy it at any time: it is
// serialized before this returns, and stored behind the job's back.
void rk_publish_serialized(rk_request *request, PJRT_Executable *executable);

// A name for the journal; owned, NULL if the plugin gives none.
char *rk_publish_name(const PJRT_Api *api, PJRT_Executable *executable);

// NULL is fine.
void rk_publish_destroy(const PJRT_Api *api, PJRT_Executable *executable);
