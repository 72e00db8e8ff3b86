"""Look at a finished run from outside: is each artifact still true, what made it, what changed, and how to ask it."""
