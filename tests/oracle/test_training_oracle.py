"""The same script and seed in both libraries: losses over 50 steps of training agree to 1e-3."""
import math

import numpy as np
import pytest
from nn_support import LIBRARIES

STEPS = 50


def train(t, model, optimizer, loss_of, batches):
    """The loss of each step."""
    losses = []
    for batch in batches:
        optimizer.zero_grad()
        loss = loss_of(model, *batch)
        loss.backward()
        t.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def follows(script):
    ours, theirs = (script(t) for t in LIBRARIES)
    assert len(ours) == STEPS and theirs[-1] < theirs[0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-3)


def text(t, length=2000, vocabulary=20):
    """Tokens of a random grammar: each is followed by one of three."""
    t.manual_seed(0)
    follow = t.randint(0, vocabulary, (vocabulary, 3))
    choices, tokens = t.randint(0, 3, (length,)).tolist(), [0]
    for choice in choices:
        tokens.append(int(follow[tokens[-1], choice]))
    return t.tensor(tokens)


def slices(t, tokens, steps, batch):
    """(inputs, targets) of shape (batch, steps) at random places."""
    for _ in range(STEPS):
        starts = t.randint(0, len(tokens) - steps - 1, (batch,)).tolist()
        yield t.stack([tokens[s:s + steps] for s in starts]), t.stack([tokens[s + 1:s + steps + 1] for s in starts])


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_language_model(kind):
    def script(t):
        tokens = text(t)

        class Model(t.nn.Module):
            def __init__(self):
                super().__init__()
                self.embedding = t.nn.Embedding(20, 16)
                self.drop = t.nn.Dropout(0.2)
                self.rnn = getattr(t.nn, kind)(16, 24, num_layers=2, dropout=0.3)
                self.decoder = t.nn.Linear(24, 20)

            def forward(self, x):
                output, _ = self.rnn(self.drop(self.embedding(x.t())))
                return self.decoder(self.drop(output))

        model = Model()
        optimizer = t.optim.SGD(model.parameters(), lr=1.0, momentum=0.5)
        return train(t, model, optimizer, lambda m, x, y: t.nn.functional.cross_entropy(m(x).view(-1, 20), y.t().reshape(-1)), slices(t, tokens, 12, 8))

    follows(script)


def test_small_gpt():
    def script(t):
        tokens, nn, functional = text(t), t.nn, t.nn.functional

        class Block(nn.Module):
            def __init__(self, width, heads):
                super().__init__()
                self.heads = heads
                self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
                self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
                self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))

            def forward(self, x):
                batch, steps, width = x.shape
                q, k, v = (part.view(batch, steps, self.heads, width // self.heads).transpose(1, 2) for part in self.qkv(self.norm1(x)).split(width, 2))
                attended = functional.scaled_dot_product_attention(q, k, v, dropout_p=0.1, is_causal=True)
                x = x + self.out(attended.transpose(1, 2).contiguous().view(batch, steps, width))
                return x + self.mlp(self.norm2(x))

        class GPT(nn.Module):
            def __init__(self, width=32, steps=16):
                super().__init__()
                self.tokens, self.places = nn.Embedding(20, width), nn.Embedding(steps, width)
                self.blocks = nn.ModuleList([Block(width, 4) for _ in range(2)])
                self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 20, bias=False)
                self.head.weight = self.tokens.weight
                self.apply(self.draw)

            def draw(self, module):
                if isinstance(module, (nn.Linear, nn.Embedding)):
                    nn.init.normal_(module.weight, 0.0, 0.02)

            def forward(self, x):
                x = self.tokens(x) + self.places(t.arange(x.shape[1]))
                for block in self.blocks:
                    x = block(x)
                return self.head(self.norm(x))

        model = GPT()
        optimizer = t.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.1)
        schedule = t.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / 10) * 0.5 * (1 + math.cos(math.pi * step / STEPS)))

        def batches():
            for batch in slices(t, tokens, 16, 12):
                yield batch
                schedule.step()

        return train(t, model, optimizer, lambda m, x, y: functional.cross_entropy(m(x).flatten(0, 1), y.flatten()), batches())

    follows(script)


def test_transformer_of_sequences():
    """Reverses sequences, with the modules' own Transformer."""
    def script(t):
        class Model(t.nn.Module):
            def __init__(self):
                super().__init__()
                self.embedding = t.nn.Embedding(12, 16)
                self.transformer = t.nn.Transformer(16, 2, 1, 1, 32, dropout=0.1, batch_first=True)
                self.head = t.nn.Linear(16, 12)

            def forward(self, source, target):
                mask = t.nn.Transformer.generate_square_subsequent_mask(target.shape[1])
                return self.head(self.transformer(self.embedding(source), self.embedding(target), tgt_mask=mask, tgt_is_causal=True))

        t.manual_seed(0)
        model = Model()
        optimizer = t.optim.Adam(model.parameters(), lr=2e-3)

        def batches():
            for _ in range(STEPS):
                source = t.randint(1, 12, (16, 6))
                yield source, t.cat([t.zeros(16, 1, dtype=t.int64), source.flip(1)], 1)

        return train(t, model, optimizer, lambda m, x, y: t.nn.functional.cross_entropy(m(x, y[:, :-1]).flatten(0, 1), y[:, 1:].flatten()), batches())

    follows(script)


def test_sequence_labels_by_ctc():
    def script(t):
        t.manual_seed(0)
        rnn, head = t.nn.GRU(6, 16, bidirectional=True), t.nn.Linear(32, 5)
        model = t.nn.ModuleList([rnn, head])
        optimizer = t.optim.Adam(model.parameters(), lr=5e-3)
        patterns = t.randn(5, 6)

        def batches():
            for _ in range(STEPS):
                labels = t.randint(1, 5, (8, 4))
                frames = patterns[labels.repeat_interleave(3, 1).t()] + 0.3 * t.randn(12, 8, 6)
                yield frames, labels

        def loss(m, frames, labels):
            log_probs = m[1](m[0](frames)[0]).log_softmax(2)
            return t.nn.functional.ctc_loss(log_probs, labels, [12] * 8, [4] * 8)

        return train(t, model, optimizer, loss, batches())

    follows(script)


def test_convolutional_network_with_dropout():
    """The MNIST example's network on blurred digits of a random alphabet."""
    def script(t):
        nn, functional = t.nn, t.nn.functional
        t.manual_seed(0)

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv1, self.conv2 = nn.Conv2d(1, 8, 3), nn.Conv2d(8, 16, 3)
                self.drop1, self.drop2 = nn.Dropout2d(0.25), nn.Dropout(0.5)
                self.fc1, self.fc2 = nn.Linear(16 * 6 * 6, 32), nn.Linear(32, 10)

            def forward(self, x):
                x = functional.relu(self.conv2(functional.relu(self.conv1(x))))
                x = self.drop1(functional.max_pool2d(x, 2)).flatten(1)
                return functional.log_softmax(self.fc2(self.drop2(functional.relu(self.fc1(x)))), 1)

        shapes = t.randn(10, 1, 16, 16)
        model = Net()
        optimizer = t.optim.Adadelta(model.parameters(), lr=1.0)

        def batches():
            for _ in range(STEPS):
                digits = t.randint(0, 10, (16,))
                yield shapes[digits] + 0.5 * t.randn(16, 1, 16, 16), digits

        return train(t, model, optimizer, lambda m, x, y: functional.nll_loss(m(x), y), batches())

    follows(script)


def test_dcgan():
    """Both losses of a pair of networks that train against each other, small enough not to be chaotic within 50 steps."""
    def script(t):
        nn = t.nn
        t.manual_seed(0)
        generator = nn.Sequential(
            nn.ConvTranspose2d(8, 16, 4, 1, 0, bias=False), nn.BatchNorm2d(16), nn.ReLU(True),
            nn.ConvTranspose2d(16, 8, 4, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(True),
            nn.ConvTranspose2d(8, 1, 4, 2, 1, bias=False), nn.Tanh())
        critic = nn.Sequential(
            nn.Conv2d(1, 8, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(8, 16, 4, 2, 1, bias=False), nn.BatchNorm2d(16), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(16, 1, 4, 1, 0, bias=False), nn.Sigmoid())

        def draw(module):
            if "Conv" in type(module).__name__:
                nn.init.normal_(module.weight, 0.0, 0.02)
            elif "BatchNorm" in type(module).__name__:
                nn.init.normal_(module.weight, 1.0, 0.02)
                nn.init.zeros_(module.bias)

        generator.apply(draw)
        critic.apply(draw)
        optimizers = [t.optim.Adam(net.parameters(), lr=2e-4, betas=(0.5, 0.999)) for net in (generator, critic)]
        criterion, losses, real_label, fake_label = nn.BCELoss(), [], t.ones(12), t.zeros(12)
        for _ in range(STEPS):
            real, noise = t.rand(12, 1, 16, 16).cumsum(2) / 8 - 1, t.randn(12, 8, 1, 1)
            critic.zero_grad()
            first = criterion(critic(real).view(-1), real_label)
            first.backward()
            fake = generator(noise)
            second = criterion(critic(fake.detach()).view(-1), fake_label)
            second.backward()
            optimizers[1].step()
            generator.zero_grad()
            third = criterion(critic(fake).view(-1), real_label)
            third.backward()
            optimizers[0].step()
            losses.append([(first + second).item(), third.item()])
        return losses

    ours, theirs = (script(t) for t in LIBRARIES)
    assert len(ours) == STEPS
    np.testing.assert_allclose(ours, theirs, rtol=1e-3)
