"""From lowered form to linear form."""
