"""Uses several streams: wait_stream, events with and without timing, queries, priorities, elapsed
time."""
import torch


def main():
    high = torch.cuda.Stream(priority=-1)
    side = [torch.cuda.Stream() for _ in range(3)]
    x = torch.randn(1024, 1024, device="cuda")
    parts = []
    torch.cuda.synchronize()
    begin = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    begin.record()
    for stream in side:
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            y = x @ x
            y.record_stream(torch.cuda.current_stream())
            parts.append(y.relu())
    done = [stream.record_event() for stream in side]
    with torch.cuda.stream(high):
        for event in done:
            high.wait_event(event)
        total = sum(parts[1:], parts[0])
    torch.cuda.current_stream().wait_stream(high)
    total.record_stream(torch.cuda.current_stream())
    total.mul_(2)
    end.record()
    while not end.query():
        pass
    end.synchronize()
    side[0].synchronize()
    took = begin.elapsed_time(end)
    blocking = torch.cuda.Event(blocking=True)
    blocking.record(side[1])
    blocking.synchronize()
    print(f"streams: {all(e.query() for e in done)}, {side[2].query()}, took time: {took > 0}")


main()
