"""Choose loop structure: Opts, the state they apply to, strategies and search."""
