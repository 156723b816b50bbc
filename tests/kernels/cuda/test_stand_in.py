"""The CuPy that runs on the CPU refuses what CuPy refuses, and runs CUDA text as a GPU would."""

import numpy as np
import pytest

KERNELS = r"""
template <class T> static __device__ __forceinline__ T twice(T x) { return x + x; }

extern "C" __global__ void __launch_bounds__(64) scaled(
    const double *__restrict__ x, double *y, long long n, double factor, int shift)
{
    long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (k >= n) return;
    double s, c;
    sincos(x[k], &s, &c);
    y[k] = twice(factor) * s / c + shift / 2.0;
}

extern "C" __global__ void turned(const float *x, float *y, int rows, int columns)
{
    extern __shared__ float tile[];
    __shared__ float last[2];
    int i = threadIdx.y, j = threadIdx.x;
    tile[i * columns + j] = x[(blockIdx.x * rows + i) * columns + j];
    if (i == rows - 1 && j == columns - 1) last[0] = x[(blockIdx.x * rows + i) * columns + j];
    __syncwarp();
    int k = i * columns + j;
    y[blockIdx.x * rows * columns + k] = tile[k % rows * columns + k / rows] - last[0];
}
"""


def test_kernels_compute_what_their_text_says(cupy):
    module = cupy.RawModule(code=KERNELS, options=("--std=c++17",))
    x = cupy.asarray(np.linspace(0, 1, 100))
    y = cupy.empty(100)
    module.get_function("scaled")((2,), (64,), (x, y, np.int64(100), np.float64(1.5), np.int32(4)))
    np.testing.assert_allclose(y.get(), 3 * np.tan(x.get()) + 2, rtol=1e-14)


def test_threads_of_a_warp_wait_for_each_other(cupy):
    turn = cupy.RawModule(code=KERNELS).get_function("turned")
    x = np.arange(3 * 4 * 7, dtype=np.float32).reshape(3, 4, 7)
    y = cupy.zeros((3, 7, 4), np.float32)
    turn((3,), (7, 4), (cupy.asarray(x), y, np.int32(4), np.int32(7)), shared_mem=4 * 28)
    assert (y.get() == x.transpose(0, 2, 1) - x[:, -1:, -1:]).all()


def test_arguments_of_other_sizes_are_refused(stand_in):
    scaled = stand_in.RawModule(code=KERNELS).get_function("scaled")
    x = stand_in.zeros(4)
    with pytest.raises(TypeError, match="its text has"):
        scaled((1,), (4,), (x, x, np.int32(4), 1.0, np.int32(0)))


def test_arrays_do_not_become_numpy_arrays_unasked(cupy):
    x = cupy.ones((2, 3))
    with pytest.raises(TypeError, match="Implicit conversion"):
        np.asarray(x)
    for mix in (lambda: x + np.ones(3), lambda: np.ones(3) * x, lambda: np.where(x > 0, np.ones(3), x)):
        with pytest.raises(TypeError):
            mix()


def test_numpy_functions_give_arrays_of_cupy(cupy):
    x = cupy.asarray(np.arange(6.0).reshape(2, 3))
    found = np.where(np.isfinite(x), np.float64(2) * x, 0)
    assert type(found).__module__ == "cupy"
    assert (found.get() == 2 * x.get()).all()
    assert type(np.stack([x, x.T.T])).__module__ == "cupy"
    assert float(x[:, 1:].sum()) == 12
    assert x.T.flags.f_contiguous
    assert x.T.strides == (8, 24)
