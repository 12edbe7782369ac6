"""Whole numbers as rows of bits, the way the FairQCM agents observe them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def bit_table(largest: int) -> NDArray[np.float32]:
    """Return the unsigned binary code of 0, ..., `largest`, most significant bit first.

    Parameters
    ----------
    largest
        The largest number that must fit, at least 0.

    Returns
    -------
    numpy.ndarray
        Shape (`largest` + 1, bits): zeros and ones, with as many bits as `largest` needs (at least
        1). Row k is the code of k.
    """
    bits = max(1, int(largest).bit_length())
    numbers = np.arange(largest + 1)[:, None]
    return (numbers >> np.arange(bits)[::-1] & 1).astype(np.float32)
