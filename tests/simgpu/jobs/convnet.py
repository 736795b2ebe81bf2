"""Trains a small convolution net with cuDNN convolutions and batch normalization, forward and
backward."""
import torch
from torch import nn

STEPS = 10


def block(width_in, width_out, stride):
    return nn.Sequential(nn.Conv2d(width_in, width_out, 3, stride, 1, bias=False),
                         nn.BatchNorm2d(width_out), nn.ReLU(inplace=True))


def main():
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    model = nn.Sequential(block(3, 16, 1), block(16, 32, 2), block(32, 64, 2),
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    images = torch.randn(16, 3, 32, 32).pin_memory()
    labels = torch.randint(0, 10, (16,)).pin_memory()
    for step in range(STEPS):
        x = images.cuda(non_blocking=True)
        if step == STEPS // 2:
            model = model.to(memory_format=torch.channels_last)
        if step >= STEPS // 2:
            x = x.to(memory_format=torch.channels_last)
        loss = nn.functional.cross_entropy(model(x), labels.cuda(non_blocking=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.inference_mode(), torch.autocast("cuda", dtype=torch.bfloat16):
        out = model.eval()(images.cuda())
    torch.cuda.synchronize()
    print(f"convnet: {STEPS} steps, then {tuple(out.shape)} in {out.dtype}")


main()
