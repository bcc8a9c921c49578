"""What a stage works with: the lab's services, the run it belongs to, and its own context."""
