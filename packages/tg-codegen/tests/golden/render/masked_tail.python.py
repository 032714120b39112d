from math import inf, nan
from tg_uop import AddrSpace, AxisType, ConstFloat, Invalid, Ops, UOp, dtypes
from tg_uop.ir.args import BufferArg, CallArg, Estimates, KernelInfo, Opt, OptOps, ParamArg, ProgramInfo, RangeArg, ReduceArg, SpecialArg, TileProduct
n0 = UOp(Ops.PARAM, dtypes.float.ptr(61), (), arg=ParamArg(slot=0, shape=None, device=None, name=None))
n1 = UOp(Ops.CONST, dtypes.int, (), arg=8)
n2 = UOp(Ops.VCONST, dtypes.int.vec(8), (), arg=(0, 1, 2, 3, 4, 5, 6, 7))
n3 = UOp(Ops.CONST, dtypes.int.vec(8), (), arg=61)
n4 = UOp(Ops.PARAM, dtypes.float.ptr(61), (), arg=ParamArg(slot=1, shape=None, device=None, name=None))
n5 = UOp(Ops.CONST, dtypes.float.vec(8), (), arg=0.0)
n6 = UOp(Ops.RANGE, dtypes.int, (n1,), arg=RangeArg(axis_id=(0,), axis_type=AxisType.LOOP, lanes=False))
n7 = UOp(Ops.MUL, dtypes.int, (n6, n1))
n8 = UOp(Ops.STACK, dtypes.int.vec(8), (n7, n7, n7, n7, n7, n7, n7, n7))
n9 = UOp(Ops.ADD, dtypes.int.vec(8), (n8, n2))
n10 = UOp(Ops.CMPLT, dtypes.bool.vec(8), (n9, n3))
n11 = UOp(Ops.INDEX, dtypes.float.ptr(61), (n0, n7, n10))
n12 = UOp(Ops.INDEX, dtypes.float.ptr(61), (n4, n7, n10))
n13 = UOp(Ops.LOAD, dtypes.float.vec(8), (n12, n5))
n14 = UOp(Ops.STORE, dtypes.void, (n11, n13))
n15 = UOp(Ops.END, dtypes.void, (n6,))
n16 = UOp(Ops.LINEAR, dtypes.void, (n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11, n12, n13, n14, n15))
root = n16
