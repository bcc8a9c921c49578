"""Private data in a question, found by rules on this machine: nothing is loaded and nothing is sent."""
