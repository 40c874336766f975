"""Hooks of modules, tensors and parameters: activations, gradients, frozen rows, a penalty on activations."""
import torch
import torch.nn as nn

torch.manual_seed(8)
model = nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 10), nn.Tanh(), nn.Linear(10, 2))
activation, gradients = {}, {}


def get_activation(name):
    def hook(model, input, output):
        activation[name] = output.detach()
    return hook


def get_gradient(name):
    def hook(module, grad_input, grad_output):
        gradients[name] = grad_output[0].norm().item()
    return hook


handles = []
for name, layer in model.named_modules():
    if isinstance(layer, (nn.Linear, nn.Tanh)):
        handles.append(layer.register_forward_hook(get_activation(name)))
        handles.append(layer.register_full_backward_hook(get_gradient(name)))
handles.append(model[2].register_forward_pre_hook(lambda module, args: (args[0] * 1.5,)))
mask = torch.ones(10, 10)
mask[:3] = 0
handles.append(model[2].weight.register_hook(lambda grad: grad * mask))
frozen = model[2].weight[:3].clone().detach()

x, y = torch.randn(40, 6), torch.randint(0, 2, (40,))
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
steps = []
model[0].bias.register_post_accumulate_grad_hook(lambda p: steps.append(p.grad.abs().sum().item()))
for epoch in range(12):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    if epoch % 4 == 3:
        print("loss {:.4f}".format(loss.item()), " ".join("{}: {:.4f}".format(n, a.abs().mean().item()) for n, a in sorted(activation.items())))
        print("   gradients", " ".join("{}: {:.4f}".format(n, g) for n, g in sorted(gradients.items())))
print("rows kept:", torch.equal(frozen, model[2].weight[:3]), "bias gradients: %.4f" % sum(steps))
for handle in handles:
    handle.remove()
activation.clear()
print("without hooks: %.4f" % criterion(model(x), y).item(), len(activation))

z = torch.randn(5, requires_grad=True)
h = z.exp()
h.retain_grad()
h.register_hook(lambda grad: grad.clamp(max=1.0))
(h ** 2).sum().backward()
print("tensor hooks:", " ".join("%.4f" % g for g in z.grad.tolist()), "%.4f" % h.grad.sum().item())
