"""Trains recurrent nets: LSTM and GRU in two layers, both directions, dropout, projections,
sequences of different lengths, autocast.

    recurrent.py [STEPS]
"""
import sys

import torch
from torch import nn

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 3


class Tagger(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.embed = nn.Embedding(100, 32)
        self.recurrent = kind(32, 64, num_layers=2, batch_first=True, dropout=0.1, **options)
        directions = 2 if options.get("bidirectional") else 1
        self.head = nn.Linear(directions * (options.get("proj_size") or 64), 10)

    def forward(self, words):
        return self.head(self.recurrent(self.embed(words))[0])


models = [Tagger(nn.LSTM).cuda(), Tagger(nn.GRU, bidirectional=True).cuda(),
          Tagger(nn.LSTM, proj_size=16).cuda(), Tagger(nn.RNN).cuda()]
words = torch.randint(0, 100, (8, 12)).pin_memory()
for model in models:
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(STEPS):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(words.cuda(non_blocking=True)).float().square().mean()
        loss.backward()
        optimizer.step()
ragged = nn.utils.rnn.pack_sequence([torch.randn(n, 32, device="cuda") for n in (9, 5, 2)])
packed = nn.LSTM(32, 64).cuda()
packed(ragged)[0].data.sum().backward()
# cuDNN keeps all weights in one buffer. The weights of the module are views of this buffer and must
# be unchanged.
weight = packed.weight_hh_l0.detach().cpu()
packed.flatten_parameters()
assert torch.equal(weight, packed.weight_hh_l0.detach().cpu())
torch.cuda.synchronize()
print(f"recurrent: {STEPS} steps of {len(models)} models")
