"""Sequence to sequence with attention: reversing digits, with teacher forcing, packed sequences and a GRU decoder."""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

random.seed(0)
torch.manual_seed(0)
PAD, SOS, EOS, WORDS, HIDDEN = 0, 1, 2, 13, 24


class EncoderRNN(nn.Module):
    def __init__(self):
        super(EncoderRNN, self).__init__()
        self.embedding = nn.Embedding(WORDS, HIDDEN, padding_idx=PAD)
        self.gru = nn.GRU(HIDDEN, HIDDEN, batch_first=True, bidirectional=True)
        self.join = nn.Linear(2 * HIDDEN, HIDDEN)

    def forward(self, input, lengths):
        packed = pack_padded_sequence(self.embedding(input), lengths, batch_first=True, enforce_sorted=False)
        output, hidden = self.gru(packed)
        output, _ = pad_packed_sequence(output, batch_first=True)
        return self.join(output), torch.tanh(self.join(torch.cat([hidden[0], hidden[1]], dim=1))).unsqueeze(0)


class BahdanauAttention(nn.Module):
    def __init__(self, hidden_size):
        super(BahdanauAttention, self).__init__()
        self.Wa = nn.Linear(hidden_size, hidden_size)
        self.Ua = nn.Linear(hidden_size, hidden_size)
        self.Va = nn.Linear(hidden_size, 1)

    def forward(self, query, keys, mask):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys))).squeeze(2).unsqueeze(1)
        weights = F.softmax(scores.masked_fill(~mask.unsqueeze(1), float("-inf")), dim=-1)
        return torch.bmm(weights, keys), weights


class AttnDecoderRNN(nn.Module):
    def __init__(self):
        super(AttnDecoderRNN, self).__init__()
        self.embedding = nn.Embedding(WORDS, HIDDEN)
        self.attention = BahdanauAttention(HIDDEN)
        self.gru = nn.GRU(2 * HIDDEN, HIDDEN, batch_first=True)
        self.out = nn.Linear(HIDDEN, WORDS)
        self.dropout = nn.Dropout(0.1)

    def forward(self, encoded, hidden, mask, target=None, steps=None):
        input = torch.full((encoded.size(0), 1), SOS, dtype=torch.long)
        outputs, attentions = [], []
        for i in range(steps or target.size(1)):
            embedded = self.dropout(self.embedding(input))
            context, weights = self.attention(hidden.permute(1, 0, 2), encoded, mask)
            output, hidden = self.gru(torch.cat((embedded, context), dim=2), hidden)
            output = self.out(output)
            outputs.append(output)
            attentions.append(weights)
            input = target[:, i].unsqueeze(1) if target is not None else output.topk(1)[1].squeeze(-1).detach()
        return F.log_softmax(torch.cat(outputs, dim=1), dim=-1), torch.cat(attentions, dim=1)


def batch(size):
    rows = [[random.randrange(3, WORDS) for _ in range(random.randint(3, 6))] for _ in range(size)]
    source = pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)
    target = pad_sequence([torch.tensor(row[::-1] + [EOS]) for row in rows], batch_first=True, padding_value=PAD)
    return source, torch.tensor([len(row) for row in rows]), target


encoder, decoder = EncoderRNN(), AttnDecoderRNN()
optimizers = [optim.Adam(m.parameters(), lr=0.01) for m in (encoder, decoder)]
criterion = nn.NLLLoss(ignore_index=PAD)
for step in range(1, 41):
    source, lengths, target = batch(16)
    for optimizer in optimizers:
        optimizer.zero_grad()
    encoded, hidden = encoder(source, lengths)
    forced = target if random.random() < 0.8 else None
    output, attention = decoder(encoded, hidden, source != PAD, forced, target.size(1))
    loss = criterion(output.reshape(-1, WORDS), target.reshape(-1))
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()
    if step % 10 == 0:
        print("step {} loss {:.4f} attention {:.4f}".format(step, loss.item(), attention.max(dim=-1)[0].mean().item()))
