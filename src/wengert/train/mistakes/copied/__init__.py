"""What a step was given and has copied, and what is done with the originals afterwards."""
