"""Explain: a compiled program in words, for people who want to know what became of their code."""
