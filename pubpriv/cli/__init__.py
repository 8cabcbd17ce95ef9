"""The command line `pubpriv`: what a person types, and what they read."""
