"""Replays conversations and turns them into scored rows."""
