"""The command line `pubpriv`: commands, their options and their output."""
