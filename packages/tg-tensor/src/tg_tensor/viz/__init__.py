"""Views of schedules for people."""
