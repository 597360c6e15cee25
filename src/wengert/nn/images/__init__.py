"""Layers for images and other arrays (batch, channels, *space)."""
