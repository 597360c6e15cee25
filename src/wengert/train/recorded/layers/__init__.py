"""Parts of a model and of its state that a loss does not train, carry or call as is meant."""
