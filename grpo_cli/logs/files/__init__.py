"""The files of a log: found, recognised by their first bytes, read by a small pool."""
