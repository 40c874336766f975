import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup

kernels = Extension("pyx_tensor_clip.kernels", ["pyx_tensor_clip/kernels.pyx"], include_dirs=[numpy.get_include()],
                    define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")])
setup(ext_modules=cythonize([kernels], language_level=3))
