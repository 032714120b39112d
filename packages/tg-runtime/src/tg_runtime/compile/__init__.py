"""Tool chains: source text in, binaries out, kept on disk."""
