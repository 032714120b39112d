from math import inf, nan
from tg_uop import AddrSpace, AxisType, ConstFloat, Invalid, Ops, UOp, dtypes
from tg_uop.ir.args import BufferArg, CallArg, Estimates, KernelInfo, Opt, OptOps, ParamArg, ProgramInfo, RangeArg, ReduceArg, SpecialArg, TileProduct
n0 = UOp(Ops.PARAM, dtypes.int.ptr(64), (), arg=ParamArg(slot=0, shape=None, device=None, name=None))
n1 = UOp(Ops.CONST, dtypes.int, (), arg=8)
n2 = UOp(Ops.PARAM, dtypes.int.ptr(64), (), arg=ParamArg(slot=1, shape=None, device=None, name=None))
n3 = UOp(Ops.CONST, dtypes.int.vec(8), (), arg=7)
n4 = UOp(Ops.RANGE, dtypes.int, (n1,), arg=RangeArg(axis_id=(0,), axis_type=AxisType.LOOP, lanes=False))
n5 = UOp(Ops.MUL, dtypes.int, (n4, n1))
n6 = UOp(Ops.INDEX, dtypes.int.ptr(64), (n0, n5))
n7 = UOp(Ops.INDEX, dtypes.int.ptr(64), (n2, n5))
n8 = UOp(Ops.LOAD, dtypes.int.vec(8), (n7,))
n9 = UOp(Ops.IDIV, dtypes.int.vec(8), (n8, n3))
n10 = UOp(Ops.STORE, dtypes.void, (n6, n9))
n11 = UOp(Ops.END, dtypes.void, (n4,))
n12 = UOp(Ops.LINEAR, dtypes.void, (n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11))
root = n12
