"""What each program can be told: options, flags and variables, and settings that have no place in the config."""
