"""A word-level language model: an LSTM over a made-up text, with truncated backpropagation and clipped gradients."""
import math

import torch
import torch.nn as nn

torch.manual_seed(1111)


class Dictionary(object):
    def __init__(self):
        self.word2idx = {}
        self.idx2word = []

    def add_word(self, word):
        if word not in self.word2idx:
            self.idx2word.append(word)
            self.word2idx[word] = len(self.idx2word) - 1
        return self.word2idx[word]

    def __len__(self):
        return len(self.idx2word)


def corpus(sentences):
    dictionary, ids = Dictionary(), []
    subjects, verbs, objects = ["the cat", "a dog", "my bird"], ["sees", "likes", "finds"], ["the house", "a tree", "some food"]
    for i in range(sentences):
        words = f"{subjects[i % 3]} {verbs[(i * i + 1) % 3]} {objects[(i // 2) % 3]}".split() + ["<eos>"]
        ids.extend(dictionary.add_word(word) for word in words)
    return dictionary, torch.tensor(ids).type(torch.int64)


class RNNModel(nn.Module):
    def __init__(self, rnn_type, ntoken, ninp, nhid, nlayers, dropout=0.5):
        super(RNNModel, self).__init__()
        self.ntoken, self.rnn_type, self.nhid, self.nlayers = ntoken, rnn_type, nhid, nlayers
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = getattr(nn, rnn_type)(ninp, nhid, nlayers, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)

    def forward(self, input, hidden):
        output, hidden = self.rnn(self.drop(self.encoder(input)), hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.ntoken)
        return torch.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        if self.rnn_type == "LSTM":
            return (weight.new_zeros(self.nlayers, bsz, self.nhid), weight.new_zeros(self.nlayers, bsz, self.nhid))
        return weight.new_zeros(self.nlayers, bsz, self.nhid)


def repackage_hidden(h):
    return h.detach() if isinstance(h, torch.Tensor) else tuple(repackage_hidden(v) for v in h)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


dictionary, ids = corpus(240)
train_data, val_data = batchify(ids[:1200], 8), batchify(ids[1200:], 4)
criterion = nn.NLLLoss()
BPTT, CLIP = 12, 0.25


def get_batch(source, i):
    seq_len = min(BPTT, len(source) - 1 - i)
    return source[i:i + seq_len], source[i + 1:i + 1 + seq_len].view(-1)


def evaluate(model, data):
    model.eval()
    total, hidden = 0.0, model.init_hidden(4)
    with torch.no_grad():
        for i in range(0, data.size(0) - 1, BPTT):
            inputs, targets = get_batch(data, i)
            output, hidden = model(inputs, hidden)
            hidden = repackage_hidden(hidden)
            total += len(inputs) * criterion(output, targets).item()
    return total / (len(data) - 1)


for kind, lr in (("LSTM", 10.0), ("GRU", 5.0)):
    model = RNNModel(kind, len(dictionary), 16, 24, 2, dropout=0.2)
    for epoch in range(1, 4):
        model.train()
        total, hidden = 0.0, model.init_hidden(8)
        for batch, i in enumerate(range(0, train_data.size(0) - 1, BPTT)):
            inputs, targets = get_batch(train_data, i)
            model.zero_grad()
            hidden = repackage_hidden(hidden)
            output, hidden = model(inputs, hidden)
            loss = criterion(output, targets)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            for p in model.parameters():
                p.data.add_(p.grad, alpha=-lr)
            total += loss.item()
        val = evaluate(model, val_data)
        print("| {} epoch {} | train {:.4f} | valid loss {:.4f} | valid ppl {:.4f}".format(kind, epoch, total / (batch + 1), val, math.exp(val)))
