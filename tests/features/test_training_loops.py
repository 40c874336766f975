"""The loop that trains a recurrent model, as it was written for PyTorch 0.3.1 and for 0.4.0."""
import numpy as np
import pytest

import pyx_tensor as torch
from pyx_tensor import nn
from pyx_tensor.autograd import Variable
from pyx_tensor.utils.data import DataLoader, TensorDataset

STEPS, FEATURES, HIDDEN = 4, 2, 3


class Recurrent(nn.Module):
    """h = tanh(U x + W h) over the steps; the last h gives one number."""

    def __init__(self):
        super().__init__()
        self.cell, self.read = nn.Linear(FEATURES + HIDDEN, HIDDEN), nn.Linear(HIDDEN, 1)

    def forward(self, input, hidden):
        for step in range(input.size(1)):
            hidden = torch.tanh(self.cell(torch.cat((input[:, step], hidden), 1)))
        return self.read(hidden).squeeze(1), hidden


@pytest.fixture
def data():
    """(inputs, targets): sequences, and the sum of the first feature."""
    inputs = torch.from_numpy(np.random.default_rng(0).uniform(-0.5, 0.5, (24, STEPS, FEATURES)).astype(np.float32))
    return TensorDataset(inputs, inputs[:, :, 0].sum(1))


def losses_by_numpy(model, data, batch_size):
    """The mean squared error of each batch."""
    weight, bias, read, offset = (p.detach().numpy().astype(np.float64) for p in model.parameters())
    found = []
    for first in range(0, len(data), batch_size):
        inputs, targets = (t.numpy().astype(np.float64) for t in data[first:first + batch_size])
        hidden = np.zeros((len(inputs), HIDDEN))
        for step in range(STEPS):
            hidden = np.tanh(np.concatenate((inputs[:, step], hidden), 1) @ weight.T + bias)
        found.append(np.mean(((hidden @ read.T + offset)[:, 0] - targets) ** 2))
    return found


@pytest.mark.rows("S118")
def test_the_loop_of_0_3_1(data):
    torch.manual_seed(1)
    model = Recurrent()
    with pytest.warns(UserWarning, match="size_average"):
        criterion = nn.MSELoss(size_average=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    expected, seen = losses_by_numpy(model, data, 8), []
    for input, target in DataLoader(data, batch_size=8):
        input, target = Variable(input), Variable(target)
        hidden = Variable(torch.zeros(*(input.size(0), HIDDEN)))
        optimizer.zero_grad()
        output, hidden = model(input, hidden)
        loss = criterion(output, target)
        loss.backward()
        optimizer.step()
        assert isinstance(loss, Variable) and (output + torch.zeros(8)).requires_grad       # Variables and tensors mix
        with pytest.raises(IndexError, match=r"item\(\)"):
            loss.data[0]
        seen.append(loss.item())
    assert seen == pytest.approx(expected, rel=1e-5)
    with pytest.warns(UserWarning, match="volatile was removed"):
        input = Variable(data.tensors[0], volatile=True)
    output, _ = model(input, Variable(torch.zeros(24, HIDDEN)))
    assert output.requires_grad and torch.nn.functional.mse_loss(output, data.tensors[1]).item() == pytest.approx(np.mean(expected), rel=1e-5)


@pytest.mark.rows("S119")
def test_the_loop_of_0_4_0(data):
    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model, criterion = Recurrent().to(device), nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)

    def evaluate():
        model.eval()
        with torch.no_grad():
            input, target = (t.to(device) for t in data.tensors)
            output, hidden = model(input, input.new_zeros(24, HIDDEN))
            assert output.grad_fn is hidden.grad_fn is None and not output.requires_grad
            return criterion(output, target).item()
    before = evaluate()
    assert before == pytest.approx(np.mean(losses_by_numpy(model.cpu(), data, 24)), rel=1e-5)
    model.to(device)
    losses = []
    for _ in range(60):
        model.train()
        total_loss = 0
        for input, target in DataLoader(data, batch_size=8, shuffle=True):
            input, target = input.to(device), target.to(device)
            hidden = input.new_zeros(*(input.size(0), HIDDEN))
            assert hidden.dtype is input.dtype and hidden.device == input.device
            optimizer.zero_grad()
            output, hidden = model(input, hidden)
            loss = criterion(output, target)
            loss.backward()
            optimizer.step()
            total_loss += loss.item()
        losses.append(total_loss)
    assert type(losses[0]) is float and losses[-1] < 0.1 * losses[0] and evaluate() < 0.1 * before
    assert evaluate() == pytest.approx(np.mean(losses_by_numpy(model.cpu(), data, 24)), rel=1e-3)
