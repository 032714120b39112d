"""The operators of the domain com.microsoft; importing a module registers what it implements."""

from tg_onnx.contrib import attention, blocks, cached_attention, fused, normalize, plain, quantized

CONTRIB_MODULES = (attention, blocks, cached_attention, fused, normalize, plain, quantized)
