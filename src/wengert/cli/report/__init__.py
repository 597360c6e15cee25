"""Pages of the commands: one file of HTML each, with pictures inside, that needs no network."""
