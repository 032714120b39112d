"""The methods of Tensor, one file a family; each family may use those before it.

Order: core, create, random, elementwise, movement, reduce, index, matmul, conv, pool, sort, norm,
loss, attention, linalg, einsum, image.
"""
