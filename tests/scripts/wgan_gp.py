"""A Wasserstein GAN with gradient penalty on points of a ring: backward through a gradient."""
import math

import torch
import torch.autograd as autograd
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(7)
DIM, BATCH, LAMBDA, CRITIC_ITERS = 32, 64, 0.1, 3


class Generator(nn.Module):
    def __init__(self):
        super(Generator, self).__init__()
        self.main = nn.Sequential(nn.Linear(2, DIM), nn.ReLU(True), nn.Linear(DIM, DIM), nn.ReLU(True), nn.Linear(DIM, 2))

    def forward(self, noise):
        return self.main(noise)


class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()
        self.main = nn.Sequential(nn.Linear(2, DIM), nn.Softplus(), nn.Linear(DIM, DIM), nn.Tanh(), nn.Linear(DIM, 1))

    def forward(self, inputs):
        return self.main(inputs).view(-1)


def weights_init(m):
    if m.__class__.__name__.find("Linear") != -1:
        m.weight.data.normal_(0.0, 0.2)
        m.bias.data.fill_(0)


def ring():
    angle = torch.rand(BATCH) * 2 * math.pi
    return torch.stack([angle.cos(), angle.sin()], dim=1) + 0.05 * torch.randn(BATCH, 2)


netG, netD = Generator(), Discriminator()
netG.apply(weights_init)
netD.apply(weights_init)
optimizerD = optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.9))
optimizerG = optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.9))


def calc_gradient_penalty(netD, real_data, fake_data):
    alpha = torch.rand(BATCH, 1).expand(real_data.size())
    interpolates = alpha * real_data + (1 - alpha) * fake_data
    interpolates = autograd.Variable(interpolates, requires_grad=True)
    disc = netD(interpolates)
    gradients = autograd.grad(outputs=disc, inputs=interpolates, grad_outputs=torch.ones(disc.size()), create_graph=True, retain_graph=True,
                              only_inputs=True)[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * LAMBDA


for iteration in range(20):
    for p in netD.parameters():
        p.requires_grad = True
    for _ in range(CRITIC_ITERS):
        real = ring()
        netD.zero_grad()
        fake = netG(torch.randn(BATCH, 2)).detach()
        penalty = calc_gradient_penalty(netD, real, fake)
        D_cost = netD(fake).mean() - netD(real).mean() + penalty
        D_cost.backward()
        optimizerD.step()
    for p in netD.parameters():
        p.requires_grad = False
    netG.zero_grad()
    G_cost = -netD(netG(torch.randn(BATCH, 2))).mean()
    G_cost.backward()
    optimizerG.step()
    if iteration % 5 == 4:
        print("[%d] D %.4f G %.4f penalty %.4f" % (iteration, D_cost.item(), G_cost.item(), penalty.item()))
