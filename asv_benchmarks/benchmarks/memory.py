"""Most memory during training steps, which asv measures as a process's peak.

A library's own code and the model count too: `peaks.py` leaves them out, and puts pyx_tensor beside PyTorch.
"""
from .families.base import LIBRARIES
from .families.training import Residual, Sequences, Training

STEPS = 4
CASES = {"MNIST CNN": (Training, "CNN 32-64-128-10, batch 64, SGD"), "ResNet-18": (Residual, "training step, 8 of 64 x 64"),
         "LSTM": (Sequences, "LSTM-200, 2 layers, 35 steps, batch 20"), "GPT": (Sequences, "GPT, 4 layers of 128, context 64, batch 12")}


class TrainingMemory:
    """A few training steps in a process of their own."""
    params = (LIBRARIES[:2], tuple(CASES))
    param_names = ("library", "case")

    def setup(self, library, case):
        family, name = CASES[case]
        statement, prepare = family.text(library, name)
        self.names = {}
        exec(prepare, self.names)
        self.statement = compile(statement, name, "exec")

    def peakmem_steps(self, library, case):
        for _ in range(STEPS):
            exec(self.statement, self.names)
