"""Training in one call: epochs, validation, stopping early, checkpoints, progress, logs."""
