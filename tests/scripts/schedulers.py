"""Learning-rate schedules of many kinds, chained and composed, over parameter groups."""
import torch
from torch import nn
from torch.optim import SGD, AdamW, RMSprop, lr_scheduler as sched

torch.manual_seed(2)
X = torch.randn(64, 5)
Y = (X @ torch.tensor([1.0, -2.0, 0.5, 0.0, 3.0])).tanh().unsqueeze(1)


def make():
    return nn.Sequential(nn.Linear(5, 8), nn.ELU(), nn.Linear(8, 1))


def groups(model):
    decay = [p for n, p in model.named_parameters() if n.endswith("weight")]
    rest = [p for n, p in model.named_parameters() if not n.endswith("weight")]
    return [{"params": decay, "weight_decay": 0.01}, {"params": rest, "lr": 0.03}]


RUNS = {
    "step": (lambda p: SGD(p, lr=0.1, momentum=0.9), lambda o: sched.StepLR(o, 5, 0.5)),
    "multistep": (lambda p: SGD(p, lr=0.1, momentum=0.9, nesterov=True), lambda o: sched.MultiStepLR(o, [4, 9], 0.3)),
    "exponential": (lambda p: AdamW(p, lr=0.05), lambda o: sched.ExponentialLR(o, 0.9)),
    "lambda": (lambda p: RMSprop(p, lr=0.02), lambda o: sched.LambdaLR(o, [lambda e: 0.95 ** e, lambda e: 1 / (1 + e)])),
    "cosine": (lambda p: AdamW(p, lr=0.05), lambda o: sched.CosineAnnealingLR(o, 15, eta_min=0.001)),
    "restarts": (lambda p: SGD(p, lr=0.1), lambda o: sched.CosineAnnealingWarmRestarts(o, 4, 2)),
    "onecycle": (lambda p: SGD(p, lr=0.1, momentum=0.9), lambda o: sched.OneCycleLR(o, max_lr=[0.2, 0.1], total_steps=15)),
    "cyclic": (lambda p: SGD(p, lr=0.1, momentum=0.9), lambda o: sched.CyclicLR(o, 0.01, 0.2, step_size_up=4)),
    "sequential": (lambda p: AdamW(p, lr=0.05), lambda o: sched.SequentialLR(
        o, [sched.LinearLR(o, 0.1, total_iters=4), sched.PolynomialLR(o, 11, power=2)], milestones=[4])),
    "chained": (lambda p: AdamW(p, lr=0.05), lambda o: sched.ChainedScheduler([sched.ConstantLR(o, 0.5, 3), sched.ExponentialLR(o, 0.95)])),
}
for name, (optimizer, scheduler) in RUNS.items():
    torch.manual_seed(4)
    model = make()
    optimizer = optimizer(groups(model))
    scheduler = scheduler(optimizer)
    for epoch in range(15):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(X), Y)
        loss.backward()
        optimizer.step()
        scheduler.step() if epoch < 14 else None
    print(f"{name:12s} loss {loss.item():.4f} lr", " ".join(f"{lr:.4e}" for lr in scheduler.get_last_lr()))

model = make()
optimizer = SGD(model.parameters(), lr=0.5)
plateau = sched.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, threshold=0.01)
for epoch in range(15):
    optimizer.zero_grad()
    loss = nn.functional.l1_loss(model(X), Y)
    loss.backward()
    optimizer.step()
    plateau.step(loss)
print("plateau loss {:.4f} lr {:.4f}".format(loss.item(), optimizer.param_groups[0]["lr"]))
state = plateau.state_dict()
plateau.load_state_dict(state)
print("bad epochs", state["num_bad_epochs"], "best {:.4f}".format(float(state["best"])))
