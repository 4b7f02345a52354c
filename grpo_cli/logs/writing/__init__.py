"""Writing back: where output goes, and how a file is replaced whole or not at all."""
