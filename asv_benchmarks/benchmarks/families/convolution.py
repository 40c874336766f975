"""Images: convolution, pooling and normalisation."""
from .base import _Family


class Convolution(_Family):
    """Images through convolutions, forward and with both gradients."""
    shapes = {      # images, weight, stride, padding, groups
        "(8,3,224,224) to 64, 7x7, step 2": ((8, 3, 224, 224), (64, 3, 7, 7), 2, 3, 1),
        "(8,64,56,56) to 64, 3x3": ((8, 64, 56, 56), (64, 64, 3, 3), 1, 1, 1),
        "(8,256,14,14) to 256, 3x3": ((8, 256, 14, 14), (256, 256, 3, 3), 1, 1, 1),
        "(8,256,56,56) to 64, 1x1": ((8, 256, 56, 56), (64, 256, 1, 1), 1, 0, 1),
        "(32,1,28,28) to 32, 5x5": ((32, 1, 28, 28), (32, 1, 5, 5), 1, 2, 1),
        "(8,64,56,56) depthwise 3x3": ((8, 64, 56, 56), (64, 1, 3, 3), 1, 1, 64),
        "(8,64,56,56) to 128, 3x3, step 2": ((8, 64, 56, 56), (128, 64, 3, 3), 2, 1, 1),
        "(8,64,16,16) to 128, 3x3, step 2": ((8, 64, 16, 16), (128, 64, 3, 3), 2, 1, 1),
        "(8,256,4,4) to 512, 3x3, step 2": ((8, 256, 4, 4), (512, 256, 3, 3), 2, 1, 1),
    }
    prepare = f"""
shapes = {shapes!r}

def forward(name):
    image, weight, stride, padding, groups = shapes[name]
    x, w = torch.randn(image), torch.randn(weight)
    return lambda: torch.nn.functional.conv2d(x, w, None, stride, padding, 1, groups)

def gradients(name):
    image, weight, stride, padding, groups = shapes[name]
    x, w = torch.randn(image, requires_grad=True), torch.randn(weight, requires_grad=True)
    y = torch.nn.functional.conv2d(x, w, None, stride, padding, 1, groups)
    g = torch.randn(y.shape)
    return lambda: torch.autograd.grad(torch.nn.functional.conv2d(x, w, None, stride, padding, 1, groups), (x, w), g)

runs = {{}}

def run(kind, name):
    if (kind, name) not in runs:
        runs[kind, name] = kind(name)
    return runs[kind, name]()
"""
    cases = {**{f"{name}, forward": f"run(forward, {name!r})" for name in shapes},
             **{f"{name}, all": f"run(gradients, {name!r})" for name in shapes}}


class Pooling(_Family):
    """(8, 64, 112, 112) by windows of 3x3, two apart."""
    prepare = """
F = torch.nn.functional
x = torch.randn(8, 64, 112, 112)
leaf = torch.randn(8, 64, 112, 112, requires_grad=True)
g = torch.randn(8, 64, 56, 56)
"""
    cases = {
        "max": "F.max_pool2d(x, 3, 2, 1)", "average": "F.avg_pool2d(x, 3, 2, 1)",
        "max, gradient": "torch.autograd.grad(F.max_pool2d(leaf, 3, 2, 1), leaf, g)",
        "average, gradient": "torch.autograd.grad(F.avg_pool2d(leaf, 3, 2, 1), leaf, g)",
    }


class Normalization(_Family):
    """Batch norm of (8, 64, 56, 56): in training, with its gradients, and by the running statistics."""
    prepare = """
F = torch.nn.functional
x, g = torch.randn(8, 64, 56, 56), torch.randn(8, 64, 56, 56)
leaf, weight, bias = torch.randn(8, 64, 56, 56, requires_grad=True), torch.ones(64, requires_grad=True), torch.zeros(64, requires_grad=True)
mean, var = torch.zeros(64), torch.ones(64)

def normalized():
    return F.batch_norm(leaf, mean, var, weight, bias, True)
"""
    cases = {
        "training": "F.batch_norm(x, mean, var, None, None, True)", "evaluation": "F.batch_norm(x, mean, var)",
        "training, all gradients": "torch.autograd.grad(normalized(), (leaf, weight, bias), g)",
    }


class Resizing(_Family):
    """(4, 32, 56, 56) to twice its size, padded, and sampled at a grid."""
    prepare = """
F = torch.nn.functional
grid = (torch.rand(4, 56, 56, 2) * 2 - 1).requires_grad_()
x, leaf, g = torch.randn(4, 32, 56, 56), torch.randn(4, 32, 56, 56, requires_grad=True), torch.randn(4, 32, 112, 112)
"""
    cases = {
        "nearest": "F.interpolate(x, scale_factor=2)", "bilinear": "F.interpolate(x, scale_factor=2, mode='bilinear')",
        "bicubic": "F.interpolate(x, scale_factor=2, mode='bicubic')",
        "bilinear, gradient": "torch.autograd.grad(F.interpolate(leaf, scale_factor=2, mode='bilinear'), leaf, g)",
        "reflect": "F.pad(x, (3, 3, 3, 3), mode='reflect')", "unfold": "F.unfold(x, 3)",
        "grid": "F.grid_sample(x, grid.detach(), align_corners=False)", "bicubic grid": "F.grid_sample(x, grid.detach(), 'bicubic', align_corners=False)",
        "grid, gradients": "torch.autograd.grad(F.grid_sample(leaf, grid, align_corners=False), (leaf, grid), x)",
    }
