"""The algebra of nodes: laws of arithmetic, division, comparison, gates and movement."""
