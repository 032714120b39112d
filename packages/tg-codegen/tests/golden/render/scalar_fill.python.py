from math import inf, nan
from tg_uop import AddrSpace, AxisType, ConstFloat, Invalid, Ops, UOp, dtypes
from tg_uop.ir.args import BufferArg, CallArg, Estimates, KernelInfo, Opt, OptOps, ParamArg, ProgramInfo, RangeArg, ReduceArg, SpecialArg, TileProduct
n0 = UOp(Ops.PARAM, dtypes.float.ptr(64), (), arg=ParamArg(slot=0, shape=None, device=None, name=None))
n1 = UOp(Ops.CONST, dtypes.int, (), arg=64)
n2 = UOp(Ops.CONST, dtypes.float, (), arg=0.0)
n3 = UOp(Ops.RANGE, dtypes.int, (n1,), arg=RangeArg(axis_id=(0,), axis_type=AxisType.LOOP, lanes=False))
n4 = UOp(Ops.INDEX, dtypes.float.ptr(64), (n0, n3))
n5 = UOp(Ops.STORE, dtypes.void, (n4, n2))
n6 = UOp(Ops.END, dtypes.void, (n3,))
n7 = UOp(Ops.LINEAR, dtypes.void, (n0, n1, n2, n3, n4, n5, n6))
root = n7
