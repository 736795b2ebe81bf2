#include "core/sim.h"
bool sim_stream_capturing(const struct sim_stream *stream)
{
    return stream->capture != NULL;
}
int sim_capture_guard(struct sim_stream *stream)
{
    (void)stream;
    return 0;
}
int sim_capture_add(struct sim_stream *stream, const struct sim_work *work)
{
    (void)stream;
    (void)work;
    return SIM_E_NOT_SUPPORTED;
}
int sim_capture_record(struct sim_stream *stream, struct sim_event *event)
{
    (void)stream;
    (void)event;
    return SIM_E_NOT_SUPPORTED;
}
int sim_capture_wait(struct sim_stream *stream, struct sim_event *event)
{
    (void)stream;
    (void)event;
    return SIM_E_NOT_SUPPORTED;
}
void sim_capture_forget(struct sim_event *event)
{
    (void)event;
}
