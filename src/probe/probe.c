#include "probe/probe.h"

#include "probe/report.h"

void rk_probe_take_steps(const char *plugin, int out_fd) {
    rk_subject s = {.path = plugin, .out_fd = out_fd, .serialized = RK_BUF_INIT(0)};
    if (!rk_report_step(&s, RK_PROBE_LIBRARY, rk_look_library) ||
        !rk_report_step(&s, RK_PROBE_TABLE, rk_look_table) ||
        !rk_report_step(&s, RK_PROBE_INITIALIZE, rk_look_initialize))
        return;
    (void)rk_report_step(&s, RK_PROBE_ATTRIBUTES, rk_look_attributes); // not required
    if (!rk_report_step(&s, RK_PROBE_CLIENT, rk_live_client))
        return;
    if (rk_report_step(&s, RK_PROBE_COMPILE, rk_live_compile) &&
        rk_report_step(&s, RK_PROBE_EXECUTE, rk_live_execute) &&
        rk_report_step(&s, RK_PROBE_SERIALIZE, rk_live_serialize))
        (void)rk_report_step(&s, RK_PROBE_LOAD, rk_live_load);
    (void)rk_report_step(&s, RK_PROBE_END, rk_live_end);
    rk_buf_cleanup(&s.serialized);
}
