"""Two networks take turns, generator and discriminator, with a barrier after each: two programs by design."""

import torch
import torch_xla
from torch import nn

CASE = {"healthy": True, "compiles": {"SyncTensors": 2}}


def main():
    torch.manual_seed(44)
    device = torch_xla.device()
    generator = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2)).to(device)
    critic = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1)).to(device)
    g_optimizer = torch.optim.SGD(generator.parameters(), lr=0.05)
    c_optimizer = torch.optim.SGD(critic.parameters(), lr=0.05)
    for step in range(8):
        z, real = torch.randn(8, 3).to(device), torch.randn(8, 2).to(device)
        c_loss = nn.functional.softplus(-critic(real)).mean()
        c_loss = c_loss + nn.functional.softplus(critic(generator(z).detach())).mean()
        c_optimizer.zero_grad()
        c_loss.backward()
        c_optimizer.step()
        torch_xla.sync()
        g_loss = nn.functional.softplus(-critic(generator(z))).mean()
        g_optimizer.zero_grad()
        g_loss.backward()
        g_optimizer.step()
        torch_xla.sync()
    print(step, c_loss.item(), g_loss.item())


main()
