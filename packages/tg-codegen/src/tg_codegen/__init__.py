"""tg-codegen: a kernel in, a program out. Start reading at `tg_codegen.pipeline`."""

from tg_uop import Opt, OptOps

from tg_codegen.errors import CodegenError, KernelFormError, KernelOptError, UnsupportedError
from tg_codegen.optimize.kernel_view import Scheduler
from tg_codegen.optimize.search import SearchResult, beam_search
from tg_codegen.options import Options, current_options
from tg_codegen.pipeline import canonical, to_program
from tg_codegen.render.registry import renderer_for
from tg_codegen.render.renderer import Renderer
from tg_codegen.target.caps import Capabilities
from tg_codegen.target.tensor_cores import TensorCore

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
    "renderer_for",
    "to_program",
]
