"""The package's version, which the metadata read too; and PyTorch's, whose interface it has."""
__version__ = "0.1.0"
torch_version = "2.13.0"       #: the release of PyTorch that behaviour is compared with
cuda = None                    #: of a build against CUDA's libraries: there is none
hip = None
xpu = None
debug = False
git_version = "unknown"
