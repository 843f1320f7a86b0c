// The name of the LD_PRELOAD entry path.
#include "pjrt/way_in.h"

const char rk_way_in[] = "preload";
