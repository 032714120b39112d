"""Number types: records, promotion, exact conversion."""
