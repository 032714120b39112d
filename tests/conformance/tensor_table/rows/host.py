"""What a Tensor is and becomes: dtypes, memory, devices, Python values, running, gradients."""

from __future__ import annotations

from tensor_table.cases import ALL, Row, like_numpy, like_torch, row
from tensor_table.inputs import every, num

CASTS = {
    "bfloat16": "bfloat16", "bool": "bool", "double": "float64", "float": "float32",
    "half": "float16", "int": "int32", "long": "int64", "short": "int16",
}  # fmt: skip

TWO = "('CPU:0', 'CPU:1')"

ROWS: tuple[Row, ...] = (
    *(
        row(
            name,
            like_torch(
                f"x.{name}()",
                f"x.to(T.{wide})",
                x=num(17),
                dtypes=ALL,
                gradient=wide.startswith("float") or wide == "bfloat16",
                out=wide,
            ),
        )
        for name, wide in CASTS.items()
    ),
    row(
        "cast",
        like_torch(
            "x.cast('int8')", "x.to(T.int8)", x=num(17), dtypes=ALL, gradient=False, out="int8"
        ),
        like_torch(
            "x.cast(dtypes.float64)", "x.to(T.float64)", x=num(17), dtypes=ALL, out="float64"
        ),
        like_torch("x.cast(np.float16)", "x.to(T.float16)", x=num(17), dtypes=ALL, out="float16"),
        "Tensor([1.5]).cast(int).dtype is dtypes.int32",
        bad={
            "Tensor([1.5]).cast('flaot')": "UnknownDTypeError",
            "Tensor([1.5]).cast(object)": "TgError",
        },
        deviations="Floats out of range of an integer wrap through int64; NaN gives 0.",
    ),
    row(
        "bitcast",
        like_numpy("x.bitcast('int32')", "x.view(np.int32)", x=num(17), dtypes=("float32",)),
        like_numpy(
            "x.bitcast('uint8')",
            "x.view(np.uint8)",
            x=num(2, 3),
            dtypes=("float32", "int16", "uint64"),
        ),
        like_numpy(
            "x.bitcast('float64')",
            "x.view(np.float64)",
            x=every(4),
            dtypes=("int32", "uint64"),
            out="float64",
        ),
        bad={"Tensor([1, 2, 3], dtype='int8').bitcast('int32')": "ShapeError"},
    ),
    row(
        "dtype",
        "Tensor([1.5]).dtype is dtypes.float32",
        "Tensor([1]).dtype is dtypes.int32",
        "Tensor([True]).dtype is dtypes.bool",
    ),
    row(
        "is_floating_point",
        "Tensor([1.5]).is_floating_point()",
        "not Tensor([1]).is_floating_point()",
    ),
    row(
        "element_size",
        "Tensor([1.5]).element_size() == 4",
        "Tensor([1], dtype='int8').element_size() == 1",
    ),
    row("nbytes", "Tensor.ones(2, 3).nbytes() == 24", "Tensor.ones(0).nbytes() == 0"),
    # host values
    row(
        "numpy",
        like_numpy("x.numpy()", "x", x=num(2, 3), dtypes=("float32", "int8", "bool", "uint64")),
        "Tensor.ones(0, 2).numpy().shape == (0, 2)",
        "Tensor(2.0).numpy().shape == ()",
    ),
    row(
        "tolist",
        "Tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]",
        "Tensor(1.5).tolist() == 1.5",
        "Tensor([True]).tolist() == [True]",
        "Tensor.ones(0, 2).tolist() == []",
    ),
    row(
        "item",
        "Tensor([[1.5]]).item() == 1.5",
        "Tensor(True).item() is True",
        "Tensor([2]).item() == 2",
        bad={
            "Tensor([1, 2]).item()": "ElementCountError",
            "Tensor([]).item()": "ElementCountError",
        },
    ),
    row(
        "data",
        "bytes(Tensor([1, 2], dtype='int8').data()) == bytes([1, 2])",
        "Tensor([[1.5, 2.5]]).data().shape == (1, 2)",
    ),
    row(
        "__array__",
        "np.asarray(Tensor([1, 2])).tolist() == [1, 2]",
        "np.array(Tensor([1.5]), dtype='float64').dtype == np.float64",
    ),
    row(
        "__bool__",
        "bool(Tensor([1]))",
        "not bool(Tensor(0.0))",
        bad={"bool(Tensor([1, 2]))": "ElementCountError"},
    ),
    row(
        "__float__",
        "float(Tensor([1.5])) == 1.5",
        bad={"float(Tensor([1, 2]))": "ElementCountError"},
    ),
    row("__int__", "int(Tensor([2.5])) == 2", bad={"int(Tensor([1, 2]))": "ElementCountError"}),
    row("__index__", "[10, 20][Tensor(1)] == 20", bad={"[1, 2][Tensor(1.5)]": "TypeError"}),
    row("__len__", "len(Tensor.ones(2, 3)) == 2", bad={"len(Tensor(1.0))": "TypeError"}),
    row(
        "__iter__",
        "[t.item() for t in Tensor([1, 2])] == [1, 2]",
        bad={"list(Tensor(1.0))": "TypeError"},
    ),
    row("__contains__", "2 in Tensor([1, 2])", "3 not in Tensor([1, 2])"),
    row(
        "__deepcopy__",
        "__import__('copy').deepcopy(Tensor([1, 2])).tolist() == [1, 2]",
        "(lambda t, c: [t.assign(t + 1).realize(), c.tolist() == [1.0]][1])"
        "(*(lambda t: (t, __import__('copy').deepcopy(t)))(Tensor([1.0]).realize()))",
    ),
    row(
        "__reduce__",
        "__import__('pickle').loads(__import__('pickle').dumps(Tensor([[1.5]]))).tolist()"
        " == [[1.5]]",
    ),
    row("__repr__", "'float' in repr(Tensor.rand(2))", "'(2, 3)' in repr(Tensor.ones(2, 3))"),
    row("__hash__", "len({Tensor([1]), Tensor([1])}) == 2"),
    row(
        "__init__",
        "Tensor([1.5, 2]).dtype is dtypes.float32",
        "Tensor(np.arange(3, dtype=np.int16)).dtype is dtypes.int16",
        "Tensor(b'ab').tolist() == [97, 98]",
        "Tensor([]).shape == (0,)",
        "Tensor([1], dtype='half').dtype is dtypes.half",
        "Tensor(Tensor([1])).tolist() == [1]",
        bad={
            "Tensor(object())": "DataError",
            "Tensor([[1, 2], [3]])": "DataError",
            "Tensor([1], device='CUP')": "TgError",
            "Tensor('abc')": "DataError",
        },
    ),
    row("__dlpack__", "np.from_dlpack(Tensor([1, 2])).tolist() == [1, 2]"),
    row("__dlpack_device__", "Tensor([1]).__dlpack_device__() == (1, 0)"),
    row("from_dlpack", "Tensor.from_dlpack(np.arange(3)).tolist() == [0, 1, 2]"),
    row(
        "from_blob",
        "(lambda a: Tensor.from_blob(a.ctypes.data, (2,), dtype='int32').tolist())"
        "(np.array([5, 6], np.int32)) == [5, 6]",
        bad={"Tensor.from_blob(0, (2,), colour=1)": "TypeError"},
    ),
    row(
        "from_uop",
        "Tensor.from_uop(Tensor([1, 2]).uop).tolist() == [1, 2]",
        bad={"Tensor.from_uop(Tensor([1]).uop, colour=1)": "TypeError"},
    ),
    row(
        "from_url",
        "callable(Tensor.from_url)",
        bad={"Tensor.from_url('nothing://there')": "TgError"},
    ),
    row(
        "__array_function__",
        "np.concatenate([Tensor([1]), Tensor([2])]).tolist() == [1, 2]",
        deviations="A function of NumPy gives an array.",
    ),
    row("__array_namespace__", "Tensor([1]).__array_namespace__().asarray([1]).tolist() == [1]"),
    row(
        "__complex__",
        "complex(Tensor([1.5])) == 1.5",
        bad={"complex(Tensor([1, 2]))": "ElementCountError"},
    ),
    row("__copy__", "__import__('copy').copy(Tensor([1, 2])).tolist() == [1, 2]"),
    row(
        "__format__",
        "f'{Tensor([1.5]):.2f}' == '1.50'",
        "'(2,)' in f'{Tensor([1, 2])}'",
        bad={"format(Tensor([1, 2]), '.2f')": "ElementCountError"},
    ),
    row(
        "__reversed__",
        "[t.item() for t in reversed(Tensor([1, 2]))] == [2, 1]",
        bad={"reversed(Tensor(1.0))": "TypeError"},
    ),
    # names of PyTorch and NumPy for facts and conversions
    row("byte", "Tensor([-1, 300, 2.5]).byte().tolist() == [255, 44, 2]"),
    row("char", "Tensor([-1, 300, -2.5]).char().tolist() == [-1, 44, -2]"),
    row("astype", "Tensor([1.5]).astype('int8').dtype is dtypes.int8"),
    row("type_as", "Tensor([1.5]).type_as(Tensor(True)).tolist() == [True]"),
    row("cpu", "Tensor([1, 2], device='PYTHON').cpu().device == 'CPU'"),
    row("itemsize", "Tensor([1]).half().itemsize == 2"),
    row("dim", "Tensor.ones(2, 3).dim() == 2"),
    row("ndimension", "Tensor(1).ndimension() == 0"),
    row("nelement", "Tensor.ones(2, 3).nelement() == 6"),
    row("is_signed", "Tensor([1]).is_signed() and not Tensor(b'a').is_signed()"),
    row("is_complex", "not Tensor([1.0]).is_complex()"),
    row("is_same_size", "Tensor([1]).is_same_size(Tensor([2.0]))"),
    row(
        "is_nonzero",
        "Tensor([2]).is_nonzero()",
        bad={"Tensor([1, 2]).is_nonzero()": "ElementCountError"},
    ),
    row(
        "equal",
        "Tensor([1, 2]).equal(Tensor([1, 2]))",
        "not Tensor([1, 2]).equal(Tensor([1, 3]))",
        "not Tensor([1]).equal(Tensor([1, 1]))",
    ),
    row("new_tensor", "Tensor([1]).half().new_tensor([1.5]).dtype is dtypes.half"),
    row("new_full", "Tensor([1]).new_full((2,), 7).tolist() == [7, 7]"),
    row("new_zeros", "Tensor([1.0]).new_zeros(2, 1).tolist() == [[0], [0]]"),
    row("new_ones", "Tensor([True]).new_ones((2,)).tolist() == [True, True]"),
    row("new_empty", "Tensor([1]).new_empty(2, 3, dtype='int8').shape == (2, 3)"),
    # memory and devices
    row(
        "to_device",
        "Tensor([1, 2]).to_device('CPU:1').device == 'CPU:1'",
        bad={"Tensor([1]).to_device('CUP')": "TgError"},
    ),
    row(
        "device",
        "Tensor([1]).device == Device.DEFAULT",
        "Tensor([1], device='PYTHON').device == 'PYTHON'",
    ),
    row(
        "to",
        "Tensor([1, 2]).to('PYTHON').tolist() == [1, 2]",
        "Tensor([1, 2]).to('CPU:1').device == 'CPU:1'",
        bad={"Tensor([1]).to('CUP')": "TgError"},
    ),
    row(
        "to_",
        "(lambda t: [t.to_('CPU:1'), t.device][1])(Tensor([1])) == 'CPU:1'",
        bad={"Tensor([1]).to_('CUP')": "TgError"},
    ),
    row(
        "shard",
        f"Tensor.arange(4).shard({TWO}, 0).tolist() == [0, 1, 2, 3]",
        f"(Tensor.arange(4).shard({TWO}, 0) + 1).tolist() == [1, 2, 3, 4]",
        f"Tensor.arange(4).shard({TWO}).device == ('CPU', 'CPU:1')",
        bad={f"Tensor.ones(4).shard({TWO}, 1)": "TgError"},
    ),
    row(
        "shard_",
        f"(lambda t: [t.shard_({TWO}, 0), t.tolist()][1])(Tensor.arange(4)) == [0, 1, 2, 3]",
    ),
    row(
        "shard_like",
        f"Tensor.ones(4).shard_like(Tensor.arange(4).shard({TWO}, 0)).device == ('CPU', 'CPU:1')",
    ),
    row("uop", "isinstance(Tensor([1]).uop, UOp)"),
    row(
        "replace",
        "(lambda t: [t.replace(Tensor([5])), t.item()][1])(Tensor([1])) == 5",
        bad={"Tensor([1]).replace(Tensor([1, 2]))": "DataError"},
    ),
    row("as_param", "Tensor([1.0]).as_param(0).shape == (1,)"),
    row(
        "call",
        "Tensor([1.0]).call(Tensor([2.0]), fxn=Tensor([0.0]).as_param(0) * 3"
        " + Tensor([0.0]).as_param(1)).tolist() == [5.0]",
    ),
    row(
        "clone",
        "(lambda t: t.clone() is not t and t.clone().tolist() == [1])(Tensor([1]))",
        like_torch("x.clone()", x=num(2, 3), dtypes=ALL),
    ),
    row("contiguous", like_torch("x.permute(1, 0).contiguous()", x=num(2, 3), dtypes=ALL)),
    row("contiguous_backward", like_torch("x.contiguous_backward()", "x.clone()", x=num(2, 3))),
    row(
        "detach",
        "Tensor([1.0]).detach().tolist() == [1.0]",
        bad={
            (
                "(lambda t: t.detach().sum().gradient(t))(Tensor([1.0], requires_grad=True))"
            ): "GradientError",
        },
    ),
    row(
        "assign",
        "(lambda t: [t.assign(Tensor([5])), t.tolist()][1])(Tensor([1])) == [5]",
        "(lambda t: [t.assign(t + 1), t.tolist()][1])(Tensor([1, 2]).realize()) == [2, 3]",
        bad={"Tensor([1]).assign(Tensor([1, 2]))": "AssignError"},
    ),
    row(
        "realize",
        "(lambda t: t.realize() is t)(Tensor([1]) + 1)",
        "Tensor([1]).realize(Tensor([2])).tolist() == [1]",
    ),
    row("schedule_linear", "Tensor.ones(3).contiguous().schedule_linear().op is Ops.LINEAR"),
    row("linear_with_vars", "(Tensor.ones(3) + 1).contiguous().linear_with_vars()[1] == {}"),
    row("custom_kernel", "callable(Tensor([1.0]).custom_kernel)"),
    # gradients
    row(
        "checkpoint",
        "(lambda t: Tensor.checkpoint(Tensor.exp, t).sum().gradient(t)[0].tolist())"
        "(Tensor([0.0, 0.0])) == [1.0, 1.0]",
    ),
    row(
        "requires_grad",
        "Tensor([1.0]).requires_grad is None",
        "Tensor([1.0], requires_grad=True).requires_grad",
    ),
    row(
        "requires_grad_",
        "Tensor([1.0]).requires_grad_().requires_grad",
        "Tensor([1.0]).requires_grad_(False).requires_grad is False",
    ),
    row(
        "grad",
        "Tensor([1.0]).grad is None",
        "(lambda t: [(t * t).sum().backward(), t.grad.tolist()][1])"
        "(Tensor([3.0], requires_grad=True)) == [6.0]",
    ),
    row(
        "backward",
        "(lambda t: [(t * 3).backward(Tensor([1.0, 2.0])), t.grad.tolist()][1])"
        "(Tensor([3.0, 4.0], requires_grad=True)) == [3.0, 6.0]",
        "(lambda t: [t.sum().backward(), t.sum().backward(), t.grad.tolist()][2])"
        "(Tensor([3.0], requires_grad=True)) == [2.0]",
        bad={
            "Tensor([1.0, 2.0], requires_grad=True).backward()": "ElementCountError",
            "Tensor([1.0]).sum().backward()": "GradientError",
        },
    ),
    row(
        "gradient",
        "(lambda t: (t ** 3).sum().gradient(t)[0].tolist())(Tensor([2.0])) == [12.0]",
        "(lambda t: (t ** 3).sum().gradient(t)[0].sum().gradient(t)[0].tolist())(Tensor([2.0]))"
        " == [12.0]",
        bad={
            "Tensor([1.0, 2.0]).gradient(Tensor([1.0]))": "ElementCountError",
            "Tensor([1.0]).sum().gradient(Tensor([1.0]))": "GradientError",
        },
    ),
    row(
        "train",
        "(lambda c: [c.__enter__(), Tensor.training, c.__exit__(None, None, None)][1])"
        "(Tensor.train())",
        "Tensor.training is False",
    ),
    row("training", "Tensor.training is False"),
)
