"""Patterns, matchers, and the drivers that rewrite a graph with them."""
