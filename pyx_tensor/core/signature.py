"""Reads an operation's definition: the kind of each parameter, from its annotation.

    def gather(B, input: T, dim: Dim, index: Raw): ...

T: a tensor (or Python scalar) that takes part in promotion.   Raw: a tensor that doesn't.   Ts, Raws: lists of them.
Dim: one dim, counted from the front before the body or a kernel sees it.   Dims: none (all), one or several.
Type: a dtype to compute in.   Sizes: one sequence, or any number of ints (`x.view(2, 3)`).
Int, Number, Bool: what isn't one is refused by name; a tensor of one element may stand for a number. Where the default is True or False, it is
Bool without saying so.   Ints: an int, or a tuple of ints where there are several.   No annotation: as it comes.
"""

PLAIN, T, Raw, Ts, Raws, Dim, Dims, Type, Sizes, Int, Number, Bool, Ints = range(13)
TENSOR_KINDS = (T, Raw, Ts, Raws)

# NumPy's names for PyTorch's parameters, linear algebra's, and those that PyTorch has for one function alone, taken where the definition has the
# latter. (A definition's own B is taken.)
ALIASES = {"x": "input", "a": "input", "x1": "input", "x2": "other", "axis": "dim", "axes": "dim", "keepdims": "keepdim", "size": "sizes", "shape": "sizes",
           "B": "other", "A": "input", "input": "A", "input2": "tau", "axis0": "dim0", "axis1": "dim1",
           "split_size": "split_size_or_sections",
           **dict.fromkeys(("indices", "sections", "tensor_indices_or_sections"), "indices_or_sections")}


class Signature:
    """Names, kinds and defaults of a definition's parameters (without the leading `B`)."""

    __slots__ = ("function", "name", "params", "kinds", "defaults", "n_positional", "required", "sizes_at", "out_apart")

    REQUIRED = object()

    def __init__(self, function, name=None, kinds=None):
        """`name` and `kinds` ({parameter: kind}) stand for those that the function itself tells."""
        code = function.__code__
        if code.co_varnames[:1] != ("B",):
            raise TypeError(f"{function.__name__}: the first parameter of a definition is B")
        self.function = function
        self.name = name or function.__name__
        self.n_positional = code.co_argcount - 1
        self.params = code.co_varnames[1:code.co_argcount + code.co_kwonlyargcount]
        kinds = function.__annotations__ if kinds is None else kinds
        given = dict(zip(reversed(self.params[:self.n_positional]), reversed(function.__defaults__ or ())))
        given.update(function.__kwdefaults__ or {})
        self.defaults = [given.get(p, self.REQUIRED) for p in self.params]
        self.kinds = tuple(kinds.get(p, Bool if type(default) is bool else PLAIN) for p, default in zip(self.params, self.defaults))
        self.required = sum(d is self.REQUIRED for d in self.defaults)
        self.out_apart = False        # `out=` may not even be an operand's own memory
        self.sizes_at = self.kinds.index(Sizes) if Sizes in self.kinds else -1

    def bind(self, args, kwargs):
        """The arguments in the order of the parameters; TypeError where they don't fit."""
        bound = list(args)
        if self.sizes_at >= 0 and len(bound) > self.sizes_at and not isinstance(bound[self.sizes_at], (tuple, list)):
            bound[self.sizes_at:] = [tuple(bound[self.sizes_at:])]
        if len(bound) > self.n_positional:
            raise TypeError(f"{self.name}() takes {self.n_positional} positional argument{'s' * (self.n_positional != 1)} but "
                            f"{len(bound)} were given")
        bound += self.defaults[len(bound):]
        for key, value in kwargs.items():
            self._bind_keyword(bound, len(args), key, value)
        for i, value in enumerate(bound):
            if value is self.REQUIRED:
                missing = [p for p, v in zip(self.params, bound) if v is self.REQUIRED]
                names = ", ".join(f'"{p}"' for p in missing)
                raise TypeError(f"{self.name}() missing {len(missing)} required positional argument{'s' * (len(missing) != 1)}: {names}")
        return bound

    def _bind_keyword(self, bound, n_given, key, value):
        if key not in self.params:
            alias = ALIASES.get(key)
            if alias == "dim" and alias not in self.params:
                alias = "dims"
            if alias not in self.params:
                raise TypeError(f"{self.name}() got an unexpected keyword argument '{key}'")
            key = alias
        at = self.params.index(key)
        if at < n_given and at < self.n_positional:
            raise TypeError(f"{self.name}() got multiple values for argument '{key}'")
        bound[at] = value
