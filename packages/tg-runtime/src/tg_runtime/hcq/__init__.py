"""Hardware command queues: commands, signals, programs and graphs that every such device shares."""
