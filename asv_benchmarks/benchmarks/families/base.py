"""What a family of timed statements is."""
LIBRARIES = ("pyx_tensor", "torch", "numpy")


class _Family:
    """Case name -> statement, under PyTorch's names; a case that NumPy lacks is missing from `numpy_cases`."""
    prepare = ""
    cases = {}
    numpy_prepare = ""
    numpy_cases = {}
    param_names = ("library", "case")

    def __init_subclass__(cls):
        cls.params = (LIBRARIES, tuple(cls.cases))

    @classmethod
    def text(cls, library, case):
        """(statement, preparation) of a case; None where the library lacks it."""
        if library == "numpy":
            if case not in cls.numpy_cases:
                return None
            return cls.numpy_cases[case], f"import numpy as np\n{cls.numpy_prepare}"
        return cls.cases[case], f"import {library} as torch\n{cls.prepare}"

    def setup(self, library, case):
        if self.text(library, case) is None:
            raise NotImplementedError(f"{library} has no {case}")  # asv's way to skip

    def timeraw_case(self, library, case):
        return self.text(library, case)
