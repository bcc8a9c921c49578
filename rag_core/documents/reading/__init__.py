"""Files as documents, whatever they contain: each is read in a separate process, within limits."""
