"""Runs torch.compile on a module and on an optimizer's step, without a backend compiler. Prints
Dynamo's counters, so that two runs can be compared."""
import torch
from torch import nn

model = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
forward = torch.compile(model, backend="eager", fullgraph=True)
step = torch.compile(lambda: optimizer.step(), backend="eager")
for _ in range(4):
    optimizer.zero_grad()
    forward(torch.ones(2, 16, device="cuda")).sum().backward()
    step()
torch.cuda.synchronize()
counters = torch._dynamo.utils.counters
print({key: dict(counters[key]) for key in ("stats", "graph_break")})
