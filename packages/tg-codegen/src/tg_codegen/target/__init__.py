"""What targets can do, as data."""
