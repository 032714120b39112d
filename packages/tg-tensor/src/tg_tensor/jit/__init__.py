"""Capture a step once and replay it: capture, guards, replay."""
