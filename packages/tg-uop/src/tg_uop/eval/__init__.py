"""What operations mean on exact values."""
