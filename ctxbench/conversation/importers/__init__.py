"""Reads conversations from public formats, one format a file.

A format is a module with `read` (yields conversations from one file or folder) and
`looks_like` (whether a record is of this format, so that a wrong choice can be told).
"""
