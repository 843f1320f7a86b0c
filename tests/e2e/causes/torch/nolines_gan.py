"""A GAN reads values between the parts of a step. Its two networks are no versions of one graph."""

import torch
import torch_xla
from torch import nn

CASE = {
    "runs": [{"env": {"XLA_IR_DEBUG": "0", "XLA_HLO_DEBUG": "0"}}],
    "patterns": [("fragments", None)],
    "may": ["parameters"],  # the optimizers' states are created in the first step
    "questions": {"input_shapes_changed": False, "profile_or_sharding_changed": False, "hidden_branch_active": False},
}


def block(layer, channels, *last):
    return [layer, nn.BatchNorm2d(channels), *last]


def main():
    torch.manual_seed(47)
    device = torch_xla.device()
    generator = nn.Sequential(
        *block(nn.ConvTranspose2d(10, 16, 4, 1, 0, bias=False), 16, nn.ReLU(True)),
        *block(nn.ConvTranspose2d(16, 8, 4, 2, 1, bias=False), 8, nn.ReLU(True)),
        nn.ConvTranspose2d(8, 3, 4, 2, 1, bias=False), nn.Tanh(),
    ).to(device)
    critic = nn.Sequential(
        nn.Conv2d(3, 8, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
        *block(nn.Conv2d(8, 16, 4, 2, 1, bias=False), 16, nn.LeakyReLU(0.2, inplace=True)),
        nn.Conv2d(16, 1, 4, 1, 0, bias=False), nn.Sigmoid(), nn.Flatten(0),
    ).to(device)
    bce = nn.BCELoss()
    of_critic = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.5, 0.999))
    of_generator = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    torch_xla.sync()
    for step in range(8):
        critic.zero_grad()
        real = torch.randn(16, 3, 16, 16).to(device)
        label = torch.full((16,), 1.0, device=device)
        output = critic(real)
        real_loss = bce(output, label)
        real_loss.backward()
        real_mean = output.mean().item()
        fake = generator(torch.randn(16, 10, 1, 1, device=device))
        label.fill_(0.0)
        output = critic(fake.detach())
        fake_loss = bce(output, label)
        fake_loss.backward()
        fake_mean = output.mean().item()
        loss = real_loss + fake_loss
        of_critic.step()
        torch_xla.sync()
        generator.zero_grad()
        label.fill_(1.0)
        output = critic(fake)
        generator_loss = bce(output, label)
        generator_loss.backward()
        last_mean = output.mean().item()
        of_generator.step()
        torch_xla.sync()
        print(step, loss.item(), generator_loss.item(), real_mean, fake_mean, last_mean)


main()
