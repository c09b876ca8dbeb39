"""How a decision is asked for and read: one file for each protocol."""
