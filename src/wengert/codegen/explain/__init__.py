"""Explain: a program in words, for people who ask what the compiler made of theirs."""
