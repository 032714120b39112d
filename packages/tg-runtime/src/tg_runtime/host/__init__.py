"""The machine that tg runs on: its libraries, memory, processor and object files."""
