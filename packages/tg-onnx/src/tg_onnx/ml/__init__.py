"""The operators of ai.onnx.ml; importing the package registers them."""

from tg_onnx.ml import labels, linear, support_vectors, tree_operators

ML_MODULES = (labels, linear, support_vectors, tree_operators)
