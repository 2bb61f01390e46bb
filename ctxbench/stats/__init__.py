"""Means with intervals, and the summaries made of them."""
