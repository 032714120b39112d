"""Compile and run schedules: the map from nodes to memory, launches, counters."""
