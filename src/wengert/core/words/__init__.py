"""What users are told: where in their program it is, and what they may have meant."""
