"""Training under the profiler, with ranges of one's own, and a schedule."""
import torch
import torch.nn as nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule

torch.manual_seed(6)
model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.LayerNorm(32), nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x, y = torch.randn(64, 20), torch.randint(0, 4, (64,))


def step():
    with record_function("forward"):
        loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    with record_function("backward"):
        loss.backward()
    optimizer.step()
    return loss.item()


with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
    losses = [step() for _ in range(5)]
print("losses", " ".join("%.4f" % loss for loss in losses))
averages = {event.key: event for event in prof.key_averages()}
for name in ("forward", "backward"):
    event = averages[name]
    print(name, event.count, event.cpu_time_total > 0)
print("linear layers run:", averages["aten::linear"].count)
table = prof.key_averages().table(sort_by="cpu_time_total", row_limit=5)
print(all(word in table for word in ("Name", "CPU total", "forward")))

finished = []
with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
             on_trace_ready=lambda p: finished.append(len(p.key_averages()) > 0)) as prof:
    for _ in range(5):
        loss = step()
        prof.step()
print("traces", finished, "loss %.4f" % loss)

with torch.autograd.profiler.profile() as prof:
    step()
print("events", len(prof.function_events) > 10, prof.key_averages().total_average().count > 10)
