"""4. The pipeline: a list of passes, each with the form it ends in."""

from __future__ import annotations

from expression import RENDERER, kernel
from tg_codegen.options import current_options
from tg_codegen.pipeline import canonicalization, lowering, optimization

graph = kernel()
for stage, pipeline in (
    ("canonicalize", canonicalization()),
    ("optimize", optimization(RENDERER, current_options())),
    ("lower", lowering(RENDERER.caps)),
):
    print(f"{stage}:")
    for one in pipeline:
        graph = one(graph)
        print(f"  {one.name:24} {one.after.name:9} {len(graph.toposort()):4} nodes")
