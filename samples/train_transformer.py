#!/usr/bin/env python3
"""Trains a small transformer on generated text, with a training loop like those in many projects.

    CUDA_INJECTION64_PATH=.../libsyncline.so python3 samples/train_transformer.py [--steps N]

The script does not use syncline itself. In each step the CPU waits for the GPU three times, in ways
that are easy to overlook. The trace shows the source line and the duration of each wait.
"""

import argparse

import torch
from torch import nn

VOCABULARY, WIDTH, LENGTH, BATCH = 512, 128, 64, 16


class Model(nn.Module):
    """Maps tokens of shape (BATCH, LENGTH) to logits of shape (BATCH, LENGTH, VOCABULARY)."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        mask = nn.Transformer.generate_square_subsequent_mask(LENGTH, device=tokens.device)
        return self.head(self.layers(self.embed(tokens), mask=mask, is_causal=True))


def batches(steps):
    """Yields batches of rows. Each row counts upwards from a random token, which is a pattern that
    the model can learn."""
    for _ in range(steps):
        first = torch.randint(0, VOCABULARY, (BATCH, 1))
        yield (first + torch.arange(LENGTH + 1)) % VOCABULARY


def accuracy(logits, wanted):
    """Returns the share of tokens that the model predicts correctly. Copies all predictions to the
    CPU and counts the correct ones there."""
    guesses = logits.argmax(dim=-1).cpu()
    return (guesses == wanted).float().mean().item()


def train_step(model, optimizer, tokens):
    inputs, wanted = tokens[:, :-1].cuda(), tokens[:, 1:]
    optimizer.zero_grad()
    logits = model(inputs)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten().cuda())
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item(), accuracy(logits, wanted)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=20, help="training steps (20)")
    options = parser.parse_args()
    torch.manual_seed(0)
    model = Model().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for tokens in batches(options.steps):
        loss, share = train_step(model, optimizer, tokens)
    print(f"{options.steps} steps, loss {loss:.3f}, {100 * share:.1f} % of tokens right")


if __name__ == "__main__":
    main()
