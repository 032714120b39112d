"""The devices, one folder each."""
