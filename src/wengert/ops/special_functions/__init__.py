"""Special functions as ops: error, gamma, beta and Bessel functions, with their derivatives."""
