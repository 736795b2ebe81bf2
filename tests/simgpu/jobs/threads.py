"""Runs inference on several threads, each with a separate stream, and reads the results back."""
import threading

import torch
from torch import nn

THREADS, REQUESTS = 4, 25


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 4)).cuda().eval()
    torch.cuda.synchronize()
    shapes = [None] * THREADS

    def serve(which):
        stream = torch.cuda.Stream()
        count = 0
        with torch.inference_mode(), torch.cuda.stream(stream):
            for request in range(REQUESTS):
                out = model(torch.full((request % 7 + 1, 32), float(which)).cuda())
                count += out.cpu().shape[0]
        stream.synchronize()
        shapes[which] = count

    threads = [threading.Thread(target=serve, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"threads: {THREADS} threads, rows {shapes}")


main()
