"""Training loops of PyTorch/XLA. Prints the true number of steps: the updates of the (first) optimizer.

usage: loops_torch.py LOOP [STEPS]
"""

import json
import sys

import torch
import torch_xla

device = torch_xla.device()
torch.manual_seed(0)


def network():
    return torch.nn.Sequential(torch.nn.Linear(12, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3)).to(device)


def batch(size=8):
    return torch.randn(size, 12).to(device), torch.randn(size, 3).to(device)


def loss_of(model, size=8):
    x, y = batch(size)
    return torch.nn.functional.mse_loss(model(x), y)


def plain(steps, optimizer=torch.optim.Adam, **options):
    model = network()
    optimizer = optimizer(model.parameters(), lr=1e-3, **options)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    torch_xla.sync(wait=True)
    return steps


def sgd(steps):
    return plain(steps, torch.optim.SGD, momentum=0.9)


def capturable(steps):
    return plain(steps, torch.optim.AdamW, capturable=True)


def item(steps):
    """Reads each loss before the update."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        loss.item()
        optimizer.step()
        torch_xla.sync()
    return steps


def logging(steps):
    """Reads the loss every ten steps, after the step."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    for step in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        if step % 10 == 9:
            print(loss.item(), file=sys.stderr)
    return steps


def accumulation(steps):
    """Four backward passes, each with its barrier, then the update."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    for _ in range(steps):
        optimizer.zero_grad()
        for _ in range(4):
            loss_of(model).div(4).backward()
            torch_xla.sync()
        optimizer.step()
        torch_xla.sync()
    return steps


def evaluation(steps):
    """Epochs of ten batches, the last one smaller, with an evaluation of four."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    for step in range(steps):
        optimizer.zero_grad()
        loss_of(model, 4 if step % 10 == 9 else 8).backward()
        optimizer.step()
        torch_xla.sync()
        if step % 10 == 9:
            with torch.no_grad():
                print(sum(loss_of(model).item() for _ in range(4)), file=sys.stderr)
    return steps


def segmentation(steps):
    """Epochs of seven batches, the last one smaller. The prediction has the type of the target and outlives its step."""
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1, bias=False), torch.nn.BatchNorm2d(8))
    model = model.extend([torch.nn.ReLU(), torch.nn.Conv2d(8, 1, 1)]).to(device)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, momentum=0.9)

    def predict(size):
        image, target = torch.randn(size, 3, 16, 16).to(device), torch.rand(size, 16, 16).to(device)
        prediction = model(image).squeeze(1)
        return prediction, torch.nn.functional.binary_cross_entropy_with_logits(prediction, target)

    for step in range(steps):
        prediction, loss = predict(8 if step % 7 == 6 else 16)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        print(loss.item(), prediction.shape, file=sys.stderr)
        if step % 7 == 6:
            with torch.no_grad():
                model.eval()
                print(sum(predict(16)[1].item() for _ in range(2)), file=sys.stderr)
                model.train()
    return steps


def two_optimizers(steps):
    """A critic and a generator, with a barrier after each."""
    model, critic = network(), torch.nn.Linear(3, 1).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    other = torch.optim.SGD(critic.parameters(), lr=1e-3, momentum=0.9)
    for _ in range(steps):
        other.zero_grad()
        (critic(model(batch()[0]).detach()).mean() - critic(batch()[1]).mean()).backward()
        other.step()
        torch_xla.sync()
        optimizer.zero_grad()
        (-critic(model(batch()[0])).mean()).backward()
        optimizer.step()
        torch_xla.sync()
    return steps


def layers(*widths):
    parts = []
    for inputs, outputs in zip(widths[:-1], widths[1:]):
        parts += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    return torch.nn.Sequential(*parts[:-1]).to(device)


def update(optimizer, loss, barrier=True):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if barrier:
        torch_xla.sync()


def gan(steps, barrier=True, optimizer=torch.optim.Adam, critics=1, widths=(24, 32, 32)):
    """A generator and a discriminator of nearly the same size, with or without a barrier between them."""
    generator, critic = layers(16, *widths[1:], widths[0]), layers(*widths, 1)
    ours, other = (optimizer(model.parameters(), lr=1e-3) for model in (generator, critic))
    for _ in range(steps):
        for _ in range(critics):
            real, fake = torch.randn(8, widths[0]).to(device), generator(torch.randn(8, 16).to(device)).detach()
            loss = torch.nn.functional.softplus(-critic(real)) + torch.nn.functional.softplus(critic(fake))
            update(other, loss.mean(), barrier)
        loss = torch.nn.functional.softplus(-critic(generator(torch.randn(8, 16).to(device))))
        update(ours, loss.mean(), barrier)
        torch_xla.sync()
    return steps


def gan_together(steps):
    return gan(steps, barrier=False)


def gan_sgd(steps):
    return gan(steps, optimizer=lambda *args, **options: torch.optim.SGD(*args, momentum=0.9, **options))


def gan_wasserstein(steps):
    return gan(steps, critics=5)


def gan_deep(steps):
    return gan(steps, widths=(24, 32, 32, 32, 32, 32, 32))


def gan_twins(steps):
    """Two generators of the same shape: from one domain to the other, and back."""
    there, back = layers(12, 24, 24, 12), layers(12, 24, 24, 12)
    ours, other = torch.optim.Adam(there.parameters()), torch.optim.Adam(back.parameters())
    for _ in range(steps):
        x, y = torch.randn(8, 12).to(device), torch.randn(8, 12).to(device)
        update(ours, (back(there(x)) - x).abs().mean() + there(y).square().mean())
        update(other, (there(back(y)) - y).abs().mean())
    return steps


def actor_critic(steps, barrier=True, joint=False):
    """Two critics, with one optimizer each or a joint one; then the actor, and the targets follow."""
    actor, critics = layers(6, 32, 32, 4), [layers(8, 32, 32, 1) for _ in range(2)]
    targets = [layers(8, 32, 32, 1) for _ in range(2)]
    ours = torch.optim.Adam(actor.parameters())
    groups = [[p for c in critics for p in c.parameters()]] if joint else [c.parameters() for c in critics]
    others = [torch.optim.Adam(group) for group in groups]

    def act(state):
        mean, spread = actor(state).chunk(2, -1)
        return torch.tanh(mean + torch.exp(spread.clamp(-5, 2)) * torch.randn(8, 2).to(device))

    for _ in range(steps):
        state, action, after = (torch.randn(8, n).to(device) for n in (6, 2, 6))
        with torch.no_grad():
            both = torch.cat([after, act(after)], -1)
            goal = 0.1 + 0.99 * torch.minimum(*(target(both) for target in targets))
        losses = [(critic(torch.cat([state, action], -1)) - goal).square().mean() for critic in critics]
        for other, loss in zip(others, [sum(losses)] if joint else losses):
            update(other, loss, barrier)
        both = torch.cat([state, act(state)], -1)
        update(ours, -torch.minimum(*(critic(both) for critic in critics)).mean(), barrier)
        with torch.no_grad():
            for critic, target in zip(critics, targets):
                for p, t in zip(critic.parameters(), target.parameters()):
                    t.mul_(0.99).add_(p, alpha=0.01)
        torch_xla.sync()
    return steps


def actor_critic_joint(steps):
    return actor_critic(steps, joint=True)


def actor_critic_together(steps):
    return actor_critic(steps, barrier=False)


def two_critics(steps):
    """Critics of a state, and of a state with an action: nearly the same program."""
    critics = [layers(6, 48, 48, 1), layers(8, 48, 48, 1)]
    others = [torch.optim.Adam(critic.parameters()) for critic in critics]
    for _ in range(steps):
        x, y = torch.randn(8, 8).to(device), torch.randn(8, 1).to(device)
        for critic, other in zip(critics, others):
            update(other, (critic(x[:, : critic[0].in_features].contiguous()) - y).square().mean())
    return steps


if __name__ == "__main__":
    true = globals()[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else 60)
    print(json.dumps({"steps": true}))
