// A program that is linked to its plugin, so that it calls no dlsym. Creates a client.
#include <stdio.h>

#include "pjrt_c_api.h"

const PJRT_Api *GetPjrtApi(void);

int main(void) {
    PJRT_Client_Create_Args args = {.struct_size = PJRT_Client_Create_Args_STRUCT_SIZE};
    puts(GetPjrtApi()->PJRT_Client_Create(&args) ? "no client" : "a client");
    return 7;
}
