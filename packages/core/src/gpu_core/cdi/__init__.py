"""Container Device Interface: what a driver root holds, and the specifications made from it."""
