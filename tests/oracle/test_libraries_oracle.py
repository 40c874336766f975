"""Libraries that need PyTorch, over the alias and over PyTorch: the same program prints the same."""
import subprocess
import sys
import textwrap

import pytest
from script_output import assert_same_output

ALIAS = "import pyx_tensor.alias\npyx_tensor.alias.install(torchvision=False)\n"
PROGRAMS = {
    "torchdiffeq": """
        import torch
        from torchdiffeq import odeint, odeint_adjoint
        torch.manual_seed(0)
        class Dynamics(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
            def forward(self, t, y):
                return self.net(y)
        t = torch.linspace(0, 1, 5)
        for method in ("dopri5", "dopri8", "bosh3", "adaptive_heun", "euler", "midpoint", "rk4", "explicit_adams"):
            y = odeint(lambda t, y: torch.stack([y[1], -y[0] + 0.1 * t]), torch.tensor([1.0, 0.0]), t, method=method)
            print(method, " ".join("%.4f" % v for v in y[-1].tolist()))
        f = Dynamics()
        optimizer = torch.optim.Adam(f.parameters(), lr=0.05)
        for step in range(6):
            optimizer.zero_grad()
            solve = odeint if step % 2 else odeint_adjoint
            loss = (solve(f, torch.tensor([[1.0, 0.5]]), t)[-1] - 2).pow(2).sum()
            loss.backward()
            optimizer.step()
            print("%.4f" % loss.item())
    """,
    "skorch": """
        import pickle, warnings
        warnings.simplefilter("ignore")
        import numpy as np
        import torch
        from sklearn.model_selection import GridSearchCV, cross_val_score
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        from skorch import NeuralNetClassifier, NeuralNetRegressor
        from skorch.callbacks import EarlyStopping, LRScheduler
        rng = np.random.default_rng(0)
        X = rng.standard_normal((80, 4)).astype("float32")
        y = (X[:, 0] + X[:, 1] > 0).astype("int64")
        class Net(torch.nn.Module):
            def __init__(self, hidden=8, out=2):
                super().__init__()
                self.body = torch.nn.Sequential(torch.nn.Linear(4, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, out))
                self.out = out
            def forward(self, x):
                return torch.softmax(self.body(x), dim=-1) if self.out > 1 else self.body(x)
        torch.manual_seed(0)
        net = NeuralNetClassifier(Net, max_epochs=5, lr=0.3, verbose=0, batch_size=16, callbacks=[LRScheduler(policy="StepLR", step_size=2), EarlyStopping()])
        net.fit(X, y)
        print(" ".join("%.4f" % loss for loss in net.history[:, "train_loss"]), " ".join("%.4f" % loss for loss in net.history[:, "valid_loss"]))
        print("%.4f" % net.score(X, y), pickle.loads(pickle.dumps(net)).predict(X[:5]))
        torch.manual_seed(0)
        net = NeuralNetRegressor(Net, module__out=1, max_epochs=4, lr=0.05, verbose=0, optimizer=torch.optim.Adam, iterator_train__shuffle=True)
        net.fit(X, X[:, :1])
        print(" ".join("%.4f" % loss for loss in net.history[:, "train_loss"]))
        class Seeded(NeuralNetClassifier):
            def initialize(self):       # predictions between two fits move PyTorch's stream, and leave ours alone (see DataLoader)
                torch.manual_seed(0)
                return super().initialize()
        search = GridSearchCV(Seeded(Net, max_epochs=3, verbose=0, train_split=None), {"lr": [0.01, 0.3], "module__hidden": [4]}, cv=2)
        search.fit(X, y)
        print(search.best_params_, "%.4f" % search.best_score_)
    """,
    "torchmetrics": """
        import torch
        import torchmetrics
        from torchmetrics import classification, regression
        torch.manual_seed(0)
        scores, target = torch.rand(20, 3), torch.randint(0, 3, (20,))
        metrics = torchmetrics.MetricCollection({
            "accuracy": classification.MulticlassAccuracy(num_classes=3), "f1": classification.MulticlassF1Score(num_classes=3, average="macro"),
            "confusion": classification.MulticlassConfusionMatrix(num_classes=3), "auroc": classification.MulticlassAUROC(num_classes=3)})
        for i in range(0, 20, 10):
            metrics.update(scores[i:i + 10], target[i:i + 10])
        for name, value in sorted(metrics.compute().items()):
            print(name, value.tolist() if value.ndim else "%.4f" % value.item())
        error = regression.MeanSquaredError()
        print("%.4f" % error(scores[:, 0], scores[:, 1]).item(), "%.4f" % regression.R2Score()(scores[:, 0], scores[:, 1]).item())
        mean = torchmetrics.MeanMetric()
        mean.update(torch.tensor([1.0, 2.0]))
        mean.update(4.0)
        print("%.4f" % mean.compute().item())
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_library_prints_what_it_prints_with_pytorch(name, tmp_path):
    code = textwrap.dedent(PROGRAMS[name])
    out = []
    for start in ("", ALIAS):
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", start + code], capture_output=True, text=True, timeout=300, cwd=tmp_path)
        assert done.returncode == 0, done.stderr[-3000:]
        out.append(done.stdout)
    assert_same_output(out[1], out[0])
