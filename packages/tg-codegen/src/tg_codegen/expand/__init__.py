"""From kernel form to expanded form: one step a file."""
