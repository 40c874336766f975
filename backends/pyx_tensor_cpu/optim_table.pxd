"""What the optimizers' kernels of one CPU level offer the driver, for float32 and float64."""
ctypedef struct SGD:
    double lr
    double momentum
    double dampening
    double weight_decay
    bint nesterov
    bint maximize

ctypedef struct Adam:
    double beta1
    double beta2
    double eps
    double weight_decay         # added to the gradient
    double decay                # what a decoupled weight decay multiplies the parameter by, else 1
    double step_size            # lr / (1 - beta1 ** step)
    double correction           # sqrt(1 - beta2 ** step)
    bint maximize

cdef enum:
    CONSTANTS = 5
    RULES = 8                   # kernels in the order of `RULE_NAMES` in optim.pyx

ctypedef struct Rule:
    double weight_decay         # added to the gradient
    double shrink               # what the parameter is multiplied by before
    double eps                  # added to a denominator
    double c[CONSTANTS]         # of the rule
    bint maximize

ctypedef struct Adafactor:
    double share                # of the new squares in the averages
    double size                 # bound of the relative step
    double least_square, least_size, most   # of the averages, of the parameter, and the update's largest root mean square
    double shrink               # what the parameter is multiplied by before
    bint maximize
    Py_ssize_t matrices, rows, columns

# buf is NULL without momentum; in the first step it is written, not read.
ctypedef void (*SGDStep)(char* param, const char* grad, char* buf, Py_ssize_t n, const SGD* h, bint first) noexcept nogil
# max_avg_sq is NULL without amsgrad.
ctypedef void (*AdamStep)(char* param, const char* grad, char* avg, char* avg_sq, char* max_avg_sq, Py_ssize_t n,
                          const Adam* h) noexcept nogil

# a, b and c are the rule's memory of the parameter, NULL where it has none.
ctypedef void (*RuleStep)(char* param, const char* grad, char* a, char* b, char* c, Py_ssize_t n, const Rule* h) noexcept nogil

# first and second are the averages of rows and columns, scratch has a place for each column; or first is that of all (a vector), second NULL.
ctypedef void (*AdafactorStep)(char* param, const char* grad, char* first, char* second, double* scratch, const Adafactor* h) noexcept nogil

ctypedef double (*Dot)(const char* x, const char* y, Py_ssize_t n) noexcept nogil
# y = y + alpha x
ctypedef void (*AddScaled)(char* y, const char* x, double alpha, Py_ssize_t n) noexcept nogil

ctypedef struct OptimKernels:
    Dot dot
    AddScaled add_scaled
    SGDStep sgd
    AdamStep adam
    AdafactorStep adafactor
    RuleStep rules[RULES]

ctypedef struct OptimTable:
    OptimKernels single
    OptimKernels double_
