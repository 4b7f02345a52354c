"""What each command shows: its tables, sentences and reports, one module a command."""
