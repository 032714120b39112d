"""Renderers: linear form in, source text out."""
