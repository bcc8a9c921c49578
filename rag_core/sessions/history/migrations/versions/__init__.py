"""One module for each version; a new one is appended and none is changed later."""
