"""Tests of how compiled programs are called: the entry point, memory, threads."""
