"""Recordings of depth cameras: each module opens one format as `formats.Pictures`, with cameras and time stamps.

Files are untrusted. Packages that a format needs are imported when such a file is opened. If one is missing, the
message has the command that installs it.
"""
