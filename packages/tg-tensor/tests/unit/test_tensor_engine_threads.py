"""Several threads build, schedule, compile, run and replay at once."""

from __future__ import annotations

import threading

import numpy as np
from tg_tensor import Tensor, TinyJit


def work(seed: int, failures: list[BaseException]) -> None:
    try:
        rng = np.random.default_rng(seed)
        for i in range(6):
            size = 4 + (seed + i) % 3
            a = rng.standard_normal((size, size)).astype(np.float32)
            x = Tensor(a).realize()
            y = (x @ x).relu() + i
            x.assign(x + 1)
            np.testing.assert_allclose(y.numpy(), np.maximum(a @ a, 0) + i, rtol=1e-3, atol=1e-4)
            np.testing.assert_allclose(x.numpy(), a + 1, rtol=1e-5)
        jitted = TinyJit(lambda x: (x * 2).sum())
        for i in range(5):
            assert jitted(Tensor(np.full(4, i, np.float32)).realize()).item() == 8 * i
    except BaseException as error:
        failures.append(error)


def test_threads_do_not_disturb_each_other() -> None:
    failures: list[BaseException] = []
    threads = [threading.Thread(target=work, args=(seed, failures)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_write_of_another_thread_is_no_part_of_a_captured_step() -> None:
    counter = Tensor(np.zeros(4, np.float32)).realize()

    def step(x: Tensor) -> Tensor:
        # as if another thread wrote while this one is captured
        other = threading.Thread(target=lambda: counter.assign(counter + 1))
        other.start()
        other.join()
        return x * 2

    jitted = TinyJit(step)
    for i in range(6):
        jitted(Tensor(np.full(4, i, np.float32)).realize())
    np.testing.assert_array_equal(counter.numpy(), [2, 2, 2, 2])
