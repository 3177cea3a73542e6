"""A config file: its text to a document, and the document to a layer of values with their positions."""
