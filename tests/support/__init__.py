"""Slow, obvious twins of the fast routines, and what tests share."""
