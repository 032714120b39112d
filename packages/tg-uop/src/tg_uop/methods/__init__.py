"""Methods that nodes, patterns and tensors share, so that a rule reads like the math."""
