"""Several modules at once, each in a thread."""
import threading

from ...autograd import is_grad_enabled, set_grad_enabled
from ...core import autocast
from ...utils.exceptions import ExceptionWrapper


def parallel_apply(modules, inputs, kwargs_tup=None, devices=None):
    """What the modules give for their inputs, as a list: each is called in a thread of its own.

    Args:
        inputs: for each module the tuple of its arguments (or a single one).
        kwargs_tup: for each module its keyword arguments.
        devices: for each module its device, for the messages of errors.

    Grad mode and autocast are the caller's in all threads. An exception in a thread is raised here with its traceback.
    """
    if len(modules) != len(inputs):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    kwargs_tup = kwargs_tup or ({},) * len(modules)
    devices = devices or [None] * len(modules)
    if not len(modules) == len(kwargs_tup) == len(devices):
        raise AssertionError(f"There are {len(modules)} modules, {len(kwargs_tup)} keyword arguments and {len(devices)} devices")
    results = [None] * len(modules)
    surroundings = is_grad_enabled(), autocast.snapshot()

    def run(number):
        arguments = inputs[number] if isinstance(inputs[number], (list, tuple)) else (inputs[number],)
        try:
            with set_grad_enabled(surroundings[0]), autocast.restored(surroundings[1]):
                results[number] = modules[number](*arguments, **kwargs_tup[number])
        except Exception:
            results[number] = ExceptionWrapper(where=f"in replica {number} on device {devices[number]}")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(1, len(modules))]
    for thread in threads:
        thread.start()
    if modules:
        run(0)
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, ExceptionWrapper):
            result.reraise()
    return results
