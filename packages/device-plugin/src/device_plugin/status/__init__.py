"""What a running plugin shows, and the command that asks for it."""
