"""Skip-gram word vectors with negative sampling: sparse gradients of embeddings, SparseAdam and SGD, and an EmbeddingBag."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(10)
WORDS, DIM = 50, 12
text = torch.cat([torch.randperm(5) + 5 * torch.randint(0, WORDS // 5, (1,)) for _ in range(80)])


class SkipGram(nn.Module):
    def __init__(self):
        super().__init__()
        self.center = nn.Embedding(WORDS, DIM, sparse=True)
        self.context = nn.Embedding(WORDS, DIM, sparse=True)
        nn.init.uniform_(self.center.weight, -0.5 / DIM, 0.5 / DIM)
        nn.init.constant_(self.context.weight, 0)

    def forward(self, center, positive, negative):
        v = self.center(center)
        score = torch.sum(v * self.context(positive), dim=1)
        negative_score = torch.bmm(self.context(negative), v.unsqueeze(2)).squeeze(2)
        return -(F.logsigmoid(score) + F.logsigmoid(-negative_score).sum(1)).mean()


pairs = torch.stack([text[:-1], text[1:]], dim=1)
for name in ("SparseAdam", "SGD", "Adagrad"):
    torch.manual_seed(11)
    model = SkipGram()
    optimizer = getattr(torch.optim, name)(list(model.parameters()), lr={"SparseAdam": 0.02, "SGD": 5.0, "Adagrad": 0.2}[name])
    for epoch in range(3):
        total, n = 0.0, 0
        for batch in pairs[torch.randperm(len(pairs))].split(32):
            negative = torch.randint(0, WORDS, (len(batch), 4))
            loss = model(batch[:, 0], batch[:, 1], negative)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total, n = total + loss.item(), n + 1
        print("%s epoch %d loss %.4f" % (name, epoch, total / n))
grad = model.center.weight.grad
print(grad.is_sparse, tuple(grad.shape), grad.coalesce().indices().shape[1], "%.4f" % grad.to_dense().abs().sum().item())

bag = nn.EmbeddingBag(WORDS, 6, mode="mean")
head = nn.Linear(6, 3)
optimizer = torch.optim.SGD([*bag.parameters(), *head.parameters()], lr=1.0)
offsets = torch.arange(0, len(text), 5)
labels = text[offsets] // 5 % 3
for step in range(20):
    optimizer.zero_grad()
    loss = F.cross_entropy(head(bag(text, offsets)), labels)
    loss.backward()
    optimizer.step()
    if step % 5 == 4:
        print("bag %d loss %.4f" % (step, loss.item()))
