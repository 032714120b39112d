"""The operations a node can have, and the groups that rules speak of."""

from __future__ import annotations

from enum import IntEnum, auto


class Ops(IntEnum):
    """Every operation of the IR; the order is the tie-break of canonical operand order."""

    # roots and structure
    SINK = auto()
    GROUP = auto()
    NOOP = auto()
    AFTER = auto()
    LINEAR = auto()
    PROGRAM = auto()
    SOURCE = auto()
    BINARY = auto()
    INS = auto()
    CUSTOM = auto()
    CUSTOMI = auto()
    CUSTOM_FUNCTION = auto()
    CALL = auto()
    FUNCTION = auto()
    TUPLE = auto()
    GETTUPLE = auto()

    # places and memory
    DEVICE = auto()
    BUFFER = auto()
    BUFFER_VIEW = auto()
    PARAM = auto()
    DEFINE_LOCAL = auto()
    DEFINE_REG = auto()
    DEFINE_VAR = auto()
    BIND = auto()
    SPECIAL = auto()
    COPY = auto()

    # whole-tensor markers
    CONTIGUOUS = auto()
    CONTIGUOUS_BACKWARD = auto()
    DETACH = auto()

    # many devices
    MULTI = auto()
    MSELECT = auto()
    MSTACK = auto()
    ALLREDUCE = auto()

    # movement
    RESHAPE = auto()
    PERMUTE = auto()
    EXPAND = auto()
    PAD = auto()
    SHRINK = auto()
    FLIP = auto()

    # loops and memory access
    RANGE = auto()
    END = auto()
    IF = auto()
    ENDIF = auto()
    BARRIER = auto()
    REDUCE = auto()
    INDEX = auto()
    LOAD = auto()
    STORE = auto()
    WMMA = auto()

    # vectors
    STACK = auto()
    GEP = auto()

    # unary
    CAST = auto()
    BITCAST = auto()
    EXP2 = auto()
    LOG2 = auto()
    SIN = auto()
    SQRT = auto()
    RECIPROCAL = auto()
    NEG = auto()
    TRUNC = auto()

    # binary
    ADD = auto()
    MUL = auto()
    SHL = auto()
    SHR = auto()
    IDIV = auto()
    MAX = auto()
    MOD = auto()
    CMPLT = auto()
    CMPNE = auto()
    CMPEQ = auto()
    XOR = auto()
    OR = auto()
    AND = auto()
    THREEFRY = auto()
    SUB = auto()
    FDIV = auto()
    POW = auto()

    # ternary
    WHERE = auto()
    MULACC = auto()

    # constants
    CONST = auto()
    VCONST = auto()

    def __repr__(self) -> str:
        return f"Ops.{self.name}"

    __str__ = __repr__


class GroupOp:
    """Named sets of operations."""

    Unary = frozenset((Ops.EXP2, Ops.LOG2, Ops.SIN, Ops.SQRT, Ops.RECIPROCAL, Ops.NEG, Ops.TRUNC))
    Binary = frozenset(
        (
            Ops.ADD,
            Ops.MUL,
            Ops.SHL,
            Ops.SHR,
            Ops.IDIV,
            Ops.MAX,
            Ops.MOD,
            Ops.CMPLT,
            Ops.CMPNE,
            Ops.CMPEQ,
            Ops.XOR,
            Ops.OR,
            Ops.AND,
            Ops.THREEFRY,
            Ops.SUB,
            Ops.FDIV,
            Ops.POW,
        )
    )
    Ternary = frozenset((Ops.WHERE, Ops.MULACC))
    ALU = Unary | Binary | Ternary
    Elementwise = ALU | frozenset((Ops.CAST, Ops.BITCAST))
    Comparison = frozenset((Ops.CMPLT, Ops.CMPNE, Ops.CMPEQ))
    Commutative = frozenset(
        (Ops.ADD, Ops.MUL, Ops.MAX, Ops.CMPNE, Ops.CMPEQ, Ops.XOR, Ops.AND, Ops.OR)
    )
    Associative = frozenset((Ops.ADD, Ops.MUL, Ops.AND, Ops.OR, Ops.MAX, Ops.XOR))
    Idempotent = frozenset((Ops.OR, Ops.AND, Ops.MAX))
    Reduce = frozenset((Ops.ADD, Ops.MUL, Ops.MAX))
    Movement = frozenset((Ops.RESHAPE, Ops.PERMUTE, Ops.EXPAND, Ops.PAD, Ops.SHRINK, Ops.FLIP))
    Constant = frozenset((Ops.CONST, Ops.VCONST))
    Defines = frozenset((Ops.PARAM, Ops.DEFINE_LOCAL, Ops.DEFINE_REG))
    Irreducible = frozenset((Ops.CONST, Ops.DEFINE_VAR, Ops.SPECIAL, Ops.RANGE))
    Buffer = frozenset((Ops.BUFFER, Ops.BUFFER_VIEW, Ops.PARAM))
    All = frozenset(Ops)
