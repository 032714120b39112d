"""From tensor form to a list of kernel calls; read `pipeline` first."""
