"""tg-codegen: a kernel in, a program out. Start reading at `tg_codegen.pipeline`."""
