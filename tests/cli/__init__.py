"""The command line as users meet it: what it prints, where, and how it exits."""
