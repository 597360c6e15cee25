"""What users call: derivatives, tracing, graphs built by hand, the tape."""
