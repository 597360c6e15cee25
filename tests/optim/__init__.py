"""Tests of optimizers, schedules and clipping."""
