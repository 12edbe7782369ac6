"""Learning on one thread."""

from __future__ import annotations

from collections.abc import Iterator

import gymnasium
import pytest
import torch
from threadpoolctl import threadpool_info

from longfair.agents.learning.threads import one_thread
from longfair.agents.ppo import FairPPO


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_there_is_one_thread_inside_and_as_many_as_before_outside() -> None:
    before = blas_threads()
    assert before
    with one_thread():
        assert torch.get_num_threads() == 1
        assert blas_threads() == {1}
    assert torch.get_num_threads() == 2
    assert blas_threads() == before


def test_an_error_leaves_no_trace() -> None:
    with pytest.raises(ZeroDivisionError), one_thread():
        raise ZeroDivisionError
    assert torch.get_num_threads() == 2


def test_fair_ppo_learns_on_one() -> None:
    worlds = gymnasium.make_vec("longfair/Lending-v0", num_envs=2, episode_length=20)
    seen = []

    def look(*_: object) -> bool:
        seen.append(torch.get_num_threads())
        return True

    FairPPO(env=worlds, n_steps=20, batch_size=20, n_epochs=1, seed=0).learn(40, look)
    assert set(seen) == {1}
    assert torch.get_num_threads() == 2
