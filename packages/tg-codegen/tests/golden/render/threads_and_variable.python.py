from math import inf, nan
from tg_uop import AddrSpace, AxisType, ConstFloat, Invalid, Ops, UOp, dtypes
from tg_uop.ir.args import BufferArg, CallArg, Estimates, KernelInfo, Opt, OptOps, ParamArg, ProgramInfo, RangeArg, ReduceArg, SpecialArg, TileProduct
n0 = UOp(Ops.PARAM, dtypes.float.ptr(64), (), arg=ParamArg(slot=0, shape=None, device=None, name=None))
n1 = UOp(Ops.CONST, dtypes.int, (), arg=2)
n2 = UOp(Ops.SPECIAL, dtypes.int, (n1,), arg=SpecialArg(name='core_id'))
n3 = UOp(Ops.CONST, dtypes.int, (), arg=32)
n4 = UOp(Ops.MUL, dtypes.int, (n2, n3))
n5 = UOp(Ops.DEFINE_VAR, dtypes.int, (), arg=('count', 1, 32))
n6 = UOp(Ops.PARAM, dtypes.float.ptr(64), (), arg=ParamArg(slot=1, shape=None, device=None, name=None))
n7 = UOp(Ops.CAST, dtypes.float, (n5,))
n8 = UOp(Ops.RANGE, dtypes.int, (n5,), arg=RangeArg(axis_id=(0,), axis_type=AxisType.LOOP, lanes=False))
n9 = UOp(Ops.ADD, dtypes.int, (n4, n8))
n10 = UOp(Ops.INDEX, dtypes.float.ptr(64), (n0, n9))
n11 = UOp(Ops.INDEX, dtypes.float.ptr(64), (n6, n9))
n12 = UOp(Ops.LOAD, dtypes.float, (n11,))
n13 = UOp(Ops.ADD, dtypes.float, (n12, n7))
n14 = UOp(Ops.STORE, dtypes.void, (n10, n13))
n15 = UOp(Ops.END, dtypes.void, (n8,))
n16 = UOp(Ops.LINEAR, dtypes.void, (n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11, n12, n13, n14, n15))
root = n16
