"""A model whose modules change during training. One module is replaced, another reuses the memory
of a freed module, a third is created in each forward pass. One module overrides comparison and the
list of its parts."""
import torch
from torch import nn


class Head(nn.Linear):
    def __eq__(self, other):
        raise TypeError("heads are not compared")  # a class with __eq__ has no hash

    def named_modules(self, *_args, **_kwargs):
        raise TypeError("heads have no parts")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(8, 8)
        self.head = None

    def forward(self, x):
        return (self.head or nn.Identity())(nn.ReLU()(self.encoder(x)))


x = torch.ones(4, 8, device="cuda")
torch.cuda.synchronize()
net = Net().cuda()
net(x)
net.encoder = nn.Sequential(nn.Linear(8, 8), nn.Tanh()).cuda()
net(x)
net.decoder, net.encoder = net.encoder, nn.Identity()
net.head = net.decoder
net(x)
head = Head(8, 8).cuda()
print(tuple(head(x).shape))
torch.cuda.synchronize()
