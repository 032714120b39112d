"""Where PyTorch raises, this package raises an error which is of that kind, too."""

from __future__ import annotations

import pytest
from tg_tensor import Tensor
from tg_uop.errors import TgError

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

# x is (2, 3), v is (3,), i is (3,) of integers
MISTAKES = """
x.reshape("a")
x.reshape(7)
x.reshape(-1, -1)
x.view(2.5)
x.permute(0, 0)
x.permute(0, 1, 2)
x.transpose(0, 5)
x.expand(2, 4)
x.expand("a", 3)
x.squeeze(5)
x.unsqueeze(9)
x.flip(3)
x.roll(1.5, 0)
x.tile("a")
x.split(-1)
x.chunk(0)
x.unflatten(0, (3, 2))
x.movedim(0, 7)
x.narrow(0, -5, 1)
x.select(0, 9)
x.unfold(0, 5, 1)
x @ 5
x @ x
x.mm(v)
v.dot(v[:2])
x + "a"
x - None
x + v[:2]
x & x
x ^ x
~x
x << 1
x % "a"
x["a"]
x[1.5]
x[5]
x[0, 0, 0]
x[x]
x[i > 0]
x.item()
float(x)
len(x.sum())
iter(x.sum())
x.sum(5)
x.sum("a")
x.mean(foo=1)
x.argmax(3)
x.std(5)
x.cumsum(4)
x.softmax(9)
x.sort(4)
x.topk(9)
x.topk(2.5)
x.quantile(2)
x.gather(0, i)
x.gather(5, i)
x.index_select(0, x)
x.index_select(0, v)
x.index_copy(0, i, x)
x.index_add(0, i, x)
x.scatter(5, i, x)
x.masked_fill(v, 0)
x.lerp(x, "a")
x.pow("a")
x.clamp()
x.div(2, rounding_mode="up")
v.multinomial(0)
v.multinomial(9)
i.bincount(minlength=-1)
x.inverse()
x.det()
x.diagonal(0, 0, 0)
x.new_zeros("a")
x.copy_(v[:2])
i.requires_grad_()
x.backward()
x.sum().backward()
x.to("nope")
setattr(x, "grad", 5)
setattr(x, "grad", v)
v[0].bernoulli("a")
x.numpy(1, 2)
x.tolist(1)
""".strip().splitlines()


def given(library: object) -> dict[str, object]:
    make = Tensor if library is Tensor else torch.tensor
    return {
        "x": make([[0.25, 0.5, 0.75], [0.5, 0.5, 0.25]]),
        "v": make([0.25, 0.5, 0.75]),
        "i": make([0, 1, 2]),
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_kind_of_an_error(mistake: str) -> None:
    with pytest.raises(Exception) as theirs:
        eval(mistake, given(torch))
    with pytest.raises(TgError) as ours:
        eval(mistake, given(Tensor))
    assert isinstance(ours.value, theirs.type)
