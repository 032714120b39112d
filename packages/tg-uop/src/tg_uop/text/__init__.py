"""Graphs as text: dumps, Python source, short expressions, pictures."""
