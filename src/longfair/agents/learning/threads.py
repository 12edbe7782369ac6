"""Small networks learn on one thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch and the linear algebra of numpy use one thread; afterwards all is as before.

    The products of a small network take microseconds. Threads that share them wait for each other
    most of the time: on a machine that has other work, learning takes twenty times as long.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(limits=1, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(before)
