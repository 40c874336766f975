"""A siamese network: two pictures through one convolutional trunk, with contrastive and triplet losses."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(13)


class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 12, 3, stride=2), nn.PReLU(),
                                 nn.AdaptiveAvgPool2d(2))
        self.fc = nn.Linear(48, 8)

    def forward(self, x):
        return F.normalize(self.fc(self.cnn(x).flatten(1)), dim=1)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = margin

    def forward(self, a, b, different):
        distance = F.pairwise_distance(a, b)
        return torch.mean((1 - different) * distance.pow(2) + different * torch.clamp(self.margin - distance, min=0.0).pow(2))


def shapes(kinds):
    n = len(kinds)
    images = 0.1 * torch.randn(n, 1, 12, 12)
    for i, kind in enumerate(kinds.tolist()):
        top, left = torch.randint(1, 5, (2,)).tolist()
        image = images[i, 0, top:top + 6, left:left + 6]
        if kind == 0:
            image += 1
        elif kind == 1:
            image += torch.eye(6)
        else:
            image[2:4] += 1
            image[:, 2:4] += 1
    return images


net = Trunk()
criterion, triplet = ContrastiveLoss(), nn.TripletMarginLoss(margin=0.5)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(1, 25):
    first, second = torch.randint(0, 3, (24,)), torch.randint(0, 3, (24,))
    a, b = net(shapes(first)), net(shapes(second))
    loss = criterion(a, b, (first != second).float())
    positive, negative = net(shapes(first)), net(shapes((first + 1 + torch.randint(0, 2, (24,))) % 3))
    loss = loss + triplet(a, positive, negative)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 6 == 0:
        with torch.no_grad():
            similarity = F.cosine_similarity(a, b)
        print("step {} loss {:.4f} similar {:.4f} different {:.4f}".format(step, loss.item(), similarity[first == second].mean().item(),
                                                                         similarity[first != second].mean().item()))
net.eval()
with torch.no_grad():
    kinds = torch.arange(3).repeat_interleave(4)
    distances = torch.cdist(net(shapes(kinds)), net(shapes(kinds)))
print("own kind {:.4f}, others {:.4f}".format(distances[kinds[:, None] == kinds].mean().item(), distances[kinds[:, None] != kinds].mean().item()))
