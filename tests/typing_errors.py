"""Each line is a mistake that type checkers find (tests/test_typing.py); it is never run."""
import pyx_tensor as torch

a: str = torch.zeros(2)
torch.ones(2).size("x")
b: int = torch.ones(2).dtype
torch.no_such_function(1)
torch.sort(torch.ones(2)).no_such_field
torch.ones(2).no_such_method()
torch.sum(torch.ones(2), keepdim="yes")
