"""Passes that remove what a target cannot express."""
