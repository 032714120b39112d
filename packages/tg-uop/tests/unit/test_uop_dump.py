"""The numbered listing."""

from __future__ import annotations

from tg_uop import KernelInfo, Ops, UOp, dtypes
from tg_uop.text.dump import arg_text, dump, dump_linear, excerpt


def kernel() -> UOp:
    out, left = UOp.param(0, dtypes.float.ptr(16)), UOp.param(1, dtypes.float.ptr(16))
    r = UOp.range(16, 0)
    return out.index(r).store(left.index(r) + 1.0).end(r).sink(arg=KernelInfo(name="k"))


def test_one_line_a_node_operands_first() -> None:
    lines = dump(kernel()).splitlines()
    assert len(lines) == len(kernel().toposort())
    for number, line in enumerate(lines):
        assert line.split()[0] == str(number)
        for word in line.replace("(", " ").replace(")", " ").replace(",", " ").split():
            if word.startswith("%"):
                assert int(word[1:]) < number


def test_text_is_pinned() -> None:
    a = UOp.variable("a", 0, 7)
    assert dump(a * 2 + a) == (
        "0 DEFINE_VAR   weakint          () ('a', 0, 7)\n"
        "1 CONST        weakint          () 2\n"
        "2 MUL          weakint          (%0, %1)\n"
        "3 ADD          weakint          (%2, %0)"
    )


def test_a_mark_and_several_roots() -> None:
    a = UOp.variable("a", 0, 7)
    b = a + 1
    text = dump([a * 2, b], mark=b)
    assert [line[:2] for line in text.splitlines()].count("->") == 1
    assert "-> 4 ADD" in text


def test_tags_and_source_lines_show() -> None:
    node = UOp.variable("tagged", 0, 7).rtag("here")
    node.source_line = ("model.py", 12)
    assert "tag='here'" in dump(node)
    assert "# model.py:12" in dump(node)
    assert "model.py" not in dump(node, lines=False)


def test_excerpt_shows_the_neighbourhood() -> None:
    x = UOp.variable("x", 0, 7)
    nodes = [x]
    for i in range(50):
        nodes.append(nodes[-1] + (i + 2))
    text = excerpt(nodes[-1], nodes[25])
    assert text.count("->") == 1
    assert len(text.splitlines()) < 16
    assert "..." in text
    assert excerpt(nodes[3], nodes[40]) == repr(nodes[40])


def test_linear_is_indented_by_loops() -> None:
    out = UOp.param(0, dtypes.float.ptr(16))
    size = UOp.const(dtypes.int, 16)
    r = UOp.range(size, 0, dtype=dtypes.int)
    address = out.index(r, ptr=True)
    value = UOp.const(dtypes.float, 1.0)
    store = address.store(value)
    end = UOp(Ops.END, dtypes.void, (r,))
    linear = UOp(Ops.LINEAR, dtypes.void, (out, size, r, value, address, store, end))
    lines = dump_linear(linear).splitlines()
    assert lines[2].startswith("2 RANGE")
    assert lines[5].startswith("5   STORE")
    assert lines[6].startswith("6 END")


def test_long_args_are_short() -> None:
    assert arg_text(b"\x00" * 100) == "<100 bytes>"
    assert arg_text("a\nb") == repr("a\nb")
