"""What a stage may touch while it runs: services, the run, the meter."""
