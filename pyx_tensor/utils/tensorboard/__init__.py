"""`SummaryWriter`: writes what TensorBoard shows, by the package `tensorboardX` (``pip install pyx-tensor[tensorboard]``)."""
import functools

import numpy as np

from ...core.frontend import Tensor

try:
    import tensorboardX as _writer
except ImportError as error:
    raise ImportError("pyx_tensor.utils.tensorboard needs the package tensorboardX: pip install pyx-tensor[tensorboard]") from error

__all__ = ["SummaryWriter"]
_IGNORED = ("new_style", "double_precision")       # of PyTorch's add_scalar: tensorboardX has one format


def _plain(value):
    """Tensors as NumPy's arrays, inside of containers too."""
    if isinstance(value, Tensor):
        value = value.detach().cpu()
        return (value.float() if value.dtype.name == "bfloat16" else value).numpy()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(item) for item in value)
    return value


def _taking_tensors(method):
    @functools.wraps(method)
    def call(self, *args, **kwargs):
        kwargs = {name: _plain(value) for name, value in kwargs.items() if name not in _IGNORED}
        return method(self, *map(_plain, args), **kwargs)
    return call


class SummaryWriter(_writer.SummaryWriter):
    """Writes scalars, histograms, images, figures, text and more to a folder that TensorBoard reads.

    Args:
        log_dir: the folder; ``runs/`` with the time and the host's name by default.
        comment: added to the default folder's name.
        purge_step: steps from this one on that an earlier, crashed run has written are hidden.
        max_queue, flush_secs: how many events wait, and how long, before they are written.
        filename_suffix: added to the files' names.
    """

    def __init__(self, log_dir=None, comment="", purge_step=None, max_queue=10, flush_secs=120, filename_suffix="", **kwargs):
        super().__init__(log_dir, comment, purge_step, max_queue, flush_secs, filename_suffix, **kwargs)
        self.log_dir = self.logdir

    def get_logdir(self):
        """The folder."""
        return self.logdir

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """Add a batch of images: a tensor, or a list of images without the N of `dataformats`."""
        if isinstance(img_tensor, (list, tuple)):
            img_tensor = np.stack([_plain(image) for image in img_tensor])
            dataformats = dataformats if len(dataformats) == 4 else f"N{dataformats}"
        super().add_images(tag, _plain(img_tensor), global_step, walltime, dataformats)

    def add_graph(self, model, input_to_model=None, verbose=False, use_strict_trace=True):
        """Not supported: there is no tracer that could draw a model's graph."""
        raise NotImplementedError("SummaryWriter.add_graph: models aren't traced, so there is no graph to write")

    def add_embedding(self, mat, metadata=None, label_img=None, global_step=None, tag="default", metadata_header=None):
        """Add points with their labels; pictures of them (`label_img`) are not supported."""
        if label_img is not None:
            raise NotImplementedError("SummaryWriter.add_embedding: label_img isn't supported")
        metadata = metadata.tolist() if isinstance(metadata, Tensor) else metadata
        super().add_embedding(_plain(mat), metadata, None, global_step, tag, metadata_header)

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None, new_style=False, double_precision=False):
        """Add a number, or a tensor of one element."""
        super().add_scalar(tag, _number(scalar_value), global_step, walltime)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Add several numbers under one name, to be drawn together."""
        super().add_scalars(main_tag, {tag: _number(value) for tag, value in tag_scalar_dict.items()}, global_step, walltime)


def _number(value):
    return value.item() if isinstance(value, Tensor) else value


for _name in ("add_histogram", "add_histogram_raw", "add_image", "add_image_with_boxes", "add_video", "add_audio", "add_text",
              "add_pr_curve", "add_pr_curve_raw", "add_mesh", "add_hparams", "add_figure"):
    setattr(SummaryWriter, _name, _taking_tensors(getattr(_writer.SummaryWriter, _name)))
