"""The processor of this machine as a command-queue device."""
