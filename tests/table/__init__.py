"""Tests generated from the op table: one test per op and property."""
