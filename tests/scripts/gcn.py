"""A graph convolutional network on a made-up citation graph, with a dense normalised adjacency matrix."""
import math

import torch
import torch.nn.functional as F
from torch.nn.modules.module import Module
from torch.nn.parameter import Parameter

torch.manual_seed(42)
N, FEATURES, CLASSES = 60, 12, 3


class GraphConvolution(Module):
    def __init__(self, in_features, out_features, bias=True):
        super(GraphConvolution, self).__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(torch.FloatTensor(in_features, out_features))
        if bias:
            self.bias = Parameter(torch.FloatTensor(out_features))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        stdv = 1.0 / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-stdv, stdv)
        if self.bias is not None:
            self.bias.data.uniform_(-stdv, stdv)

    def forward(self, input, adj):
        output = torch.mm(adj, torch.mm(input, self.weight))
        return output if self.bias is None else output + self.bias

    def __repr__(self):
        return self.__class__.__name__ + " (" + str(self.in_features) + " -> " + str(self.out_features) + ")"


class GCN(Module):
    def __init__(self, nfeat, nhid, nclass, dropout):
        super(GCN, self).__init__()
        self.gc1 = GraphConvolution(nfeat, nhid)
        self.gc2 = GraphConvolution(nhid, nclass)
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, self.dropout, training=self.training)
        return F.log_softmax(self.gc2(x, adj), dim=1)


labels = torch.randint(CLASSES, (N,))
same = labels.unsqueeze(0) == labels.unsqueeze(1)
adj = (torch.rand(N, N) < torch.where(same, torch.tensor(0.25), torch.tensor(0.05))).float()
adj = ((adj + adj.t() + torch.eye(N)) > 0).float()
rowsum = adj.sum(1)
r_inv = torch.diag(rowsum.pow(-0.5))
adj = r_inv @ adj @ r_inv
features = F.normalize(torch.randn(N, FEATURES) + F.one_hot(labels, FEATURES).float(), p=1, dim=1)
idx_train, idx_val = torch.LongTensor(range(30)), torch.LongTensor(range(30, 60))

model = GCN(FEATURES, 16, CLASSES, 0.3)
print(model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05, weight_decay=5e-4)


def accuracy(output, labels):
    preds = output.max(1)[1].type_as(labels)
    return preds.eq(labels).double().sum() / len(labels)


for epoch in range(1, 31):
    model.train()
    optimizer.zero_grad()
    output = model(features, adj)
    loss_train = F.nll_loss(output[idx_train], labels[idx_train])
    loss_train.backward()
    optimizer.step()
    if epoch % 10 == 0:
        model.eval()
        output = model(features, adj)
        loss_val = F.nll_loss(output[idx_val], labels[idx_val])
        print("Epoch: {:04d}".format(epoch), "loss_train: {:.4f}".format(loss_train.item()), "loss_val: {:.4f}".format(loss_val.item()),
              "acc_val: {:.4f}".format(accuracy(output[idx_val], labels[idx_val]).item()))
