"""A device that compiles for any target and runs nothing."""
