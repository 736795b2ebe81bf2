"""Two threads poll CUDA events while their kernels run, as programs with an event loop of their own do.
One of them polls some 50,000 times."""
import threading

import torch

STEPS = 12


def main():
    left, right = (torch.ones(2048, 2048).cuda() for _ in range(2))
    torch.cuda.synchronize()
    polls = []

    def train(products):
        stream, count = torch.cuda.Stream(), 0
        with torch.cuda.stream(stream):
            for _ in range(STEPS):
                for _ in range(products):
                    product = left @ right
                done = torch.cuda.Event()
                done.record()
                while not done.query():
                    count += 1
                product.sum().item()
        polls.append(count)

    threads = [threading.Thread(target=train, args=(products,)) for products in (20, 60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"polls: {STEPS} steps on each of {len(polls)} threads, more than 1000 polls: {max(polls) > 1000}")


main()
