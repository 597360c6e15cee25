"""Commands that look: at data with a model, at runs, at the machine."""
