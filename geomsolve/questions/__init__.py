"""What a user may ask: validated, frozen problems; lists and built-in data sets."""
