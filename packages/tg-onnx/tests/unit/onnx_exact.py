"""Sessions of onnxruntime that do not saturate, on every processor."""

from __future__ import annotations


def exact_session(model, options=None):
    """A session on the CPU whose products of uint8 and int8 are exact.

    Without VNNI instructions onnxruntime adds pairs of them in 16 bits, which saturate, unless it
    is told to be precise.
    """
    import onnxruntime  # not everywhere

    options = options or onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
