"""Math: the elementary functions, written in arithmetic alone."""
