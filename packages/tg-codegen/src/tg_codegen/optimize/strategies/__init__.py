"""Hand-written proposals of Opts, one file a kind of kernel."""
