"""tg-codegen: a kernel in, a program out. Start reading at `tg_codegen.pipeline`."""

from importlib import import_module
from typing import TYPE_CHECKING

from tg_uop import Opt, OptOps

from tg_codegen.errors import CodegenError, KernelFormError, KernelOptError, UnsupportedError
from tg_codegen.options import Options, current_options
from tg_codegen.render.registry import renderer_for
from tg_codegen.render.renderer import Renderer
from tg_codegen.target.caps import Capabilities
from tg_codegen.target.tensor_cores import TensorCore

if TYPE_CHECKING:
    from tg_codegen.analyze.cost import estimate_kernel
    from tg_codegen.optimize.kernel_view import Scheduler
    from tg_codegen.optimize.search import SearchResult, beam_search
    from tg_codegen.pipeline import canonical, to_program, to_source, with_binary

__all__ = [
    "Capabilities",
    "CodegenError",
    "KernelFormError",
    "KernelOptError",
    "Opt",
    "OptOps",
    "Options",
    "Renderer",
    "Scheduler",
    "SearchResult",
    "TensorCore",
    "UnsupportedError",
    "beam_search",
    "canonical",
    "current_options",
    "estimate_kernel",
    "renderer_for",
    "to_program",
    "to_source",
    "with_binary",
]

# a process whose programs are all on disk needs none of the passes
_ON_DEMAND = {
    "Scheduler": "tg_codegen.optimize.kernel_view",
    "SearchResult": "tg_codegen.optimize.search",
    "beam_search": "tg_codegen.optimize.search",
    "canonical": "tg_codegen.pipeline",
    "estimate_kernel": "tg_codegen.analyze.cost",
    "to_program": "tg_codegen.pipeline",
    "to_source": "tg_codegen.pipeline",
    "with_binary": "tg_codegen.pipeline",
}


def __getattr__(name: str) -> object:
    """Load the passes when they are first asked for."""
    module = _ON_DEMAND.get(name)
    if module is None:
        raise AttributeError(f"module 'tg_codegen' has no attribute {name!r}")
    found: object = getattr(import_module(module), name)
    globals()[name] = found
    return found
