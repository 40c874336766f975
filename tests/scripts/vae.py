"""A variational autoencoder on made-up binary pictures."""
import torch
from torch import nn, optim
from torch.nn import functional as F

torch.manual_seed(0)
SIZE, LATENT, BATCH = 64, 4, 32


def pictures(n):
    rows = torch.randint(0, 8, (n, 1))
    columns = torch.randint(0, 8, (n, 1))
    grid = torch.arange(8)
    cross = (grid.view(1, 8, 1) == rows.view(n, 1, 1)) | (grid.view(1, 1, 8) == columns.view(n, 1, 1))
    return cross.float().view(n, SIZE)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(SIZE, 48)
        self.fc21 = nn.Linear(48, LATENT)
        self.fc22 = nn.Linear(48, LATENT)
        self.decoder = nn.Sequential(nn.Linear(LATENT, 48), nn.ReLU(), nn.Linear(48, SIZE), nn.Sigmoid())

    def encode(self, x):
        h = F.relu(self.fc1(x))
        return self.fc21(h), self.fc22(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decoder(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon, x, mu, logvar):
    bce = F.binary_cross_entropy(recon, x, reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce + kld


data = pictures(256)
model = VAE()
optimizer = optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(1, 6):
    model.train()
    total = 0
    for batch in torch.split(data[torch.randperm(len(data))], BATCH):
        optimizer.zero_grad()
        recon, mu, logvar = model(batch)
        loss = loss_function(recon, batch, mu, logvar)
        loss.backward()
        total += loss.item()
        optimizer.step()
    print(f"====> Epoch: {epoch} Average loss: {total / len(data):.4f}")
with torch.no_grad():
    sample = model.decoder(torch.randn(16, LATENT))
    print(f"sample mean {sample.mean():.4f} std {sample.std():.4f}")
