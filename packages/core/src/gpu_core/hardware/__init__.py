"""The node's driver as a program holds it: where it comes from, open, read, watched, opened anew."""
