"""Time things fairly.

Times on a shared machine drift. A rate counts processor time, which does not run while others have
the core, and is the best of several short windows, because others can only slow it down. What is
timed is handed in as a function; nothing here knows what it does.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Sequence

from longfair.errors import UsageError

Clock = Callable[[], float]

MATRIX_SIZES = (256, 384, 512, 768, 1024)
"""Sides of the square matrices that `matrix_multiply_rate` tries."""


def steps_per_second(
    advance: Callable[[], int],
    *,
    seconds: float = 0.15,
    windows: int = 15,
    clock: Clock = time.process_time,
) -> float:
    """Measure how many steps a function makes per second of processor time.

    Parameters
    ----------
    advance
        Makes some steps and returns how many.
    seconds
        Least duration of a window; ``advance`` is called until it is reached.
    windows
        Number of windows.
    clock
        Clock in seconds; by default it counts the time of all threads of this process.

    Returns
    -------
    float
        The best rate of all windows.

    Raises
    ------
    UsageError
        If there are no windows or the duration is not positive.
    """
    if windows < 1 or seconds <= 0:
        raise UsageError(f"{windows} windows of {seconds} s: both must be positive")
    advance()
    best = 0.0
    for _ in range(windows):
        steps, start = 0, clock()
        while (elapsed := clock() - start) < seconds:
            steps += advance()
        best = max(best, steps / elapsed)
    return best


def matrix_multiply_rate(
    sizes: Sequence[int] = MATRIX_SIZES,
    *,
    repeats: int = 7,
    clock: Clock = time.perf_counter,
) -> float:
    """Measure what this machine can do: its best rate of multiplying float32 matrices.

    One thread of torch, square matrices; the best repeat of the best size, because this is the
    roof that other rates are held against, and a disturbed measurement would lower it.

    Parameters
    ----------
    sizes
        Sides of the matrices.
    repeats
        Timed products per size, after one that is not timed.
    clock
        Clock in seconds.

    Returns
    -------
    float
        Floating-point operations per second; a product of side n counts ``2 n**3``.
    """
    import torch

    best = 0.0
    with one_torch_thread():
        for size in sizes:
            left, right = torch.rand(size, size), torch.rand(size, size)
            multiply = functools.partial(torch.mm, left, right, out=torch.empty(size, size))
            multiply()
            for _ in range(repeats):
                start = clock()
                multiply()
                best = max(best, 2.0 * size**3 / (clock() - start))
    return best


@contextlib.contextmanager
def one_torch_thread() -> Iterator[None]:
    """Keep torch to one thread, as the workers of the runner do, and restore it afterwards."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
