"""The methods of Tensor, one file a family; each family may use those before it.

Order: core, create, random, place, convert, elementwise, movement, index, scatter, reduce, matmul,
conv, pool, sort, norm, loss, attention, linalg, einsum, image, hashing, host, standard, exchange.
What is pure composition of arithmetic, views and reductions is in `tg_uop.methods`, which nodes
share.
"""
