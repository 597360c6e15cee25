"""Machine: text becomes object files, and these become functions of this process."""
