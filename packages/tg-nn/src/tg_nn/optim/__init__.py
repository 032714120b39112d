"""Optimizers: each holds parameters and their state, and changes them by their gradients."""

from tg_nn.optim.adam import LAMB, Adam, AdamW
from tg_nn.optim.optimizer import Optimizer, OptimizerGroup
from tg_nn.optim.sgd import LARS, SGD, Muon

__all__ = ["LAMB", "LARS", "SGD", "Adam", "AdamW", "Muon", "Optimizer", "OptimizerGroup"]
