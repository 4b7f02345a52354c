"""What each framework writes, and which field of a log plays which role."""
