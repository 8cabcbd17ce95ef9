"""Pages for the owner of a few datasets, on this machine alone: plan a release, make it, read it, see what is left.

Whatever is done here is done by a command of `pubpriv` in a process of its own, which the page shows; so a page can do
nothing that a command cannot, and a run that was stopped is resumed as at a terminal.
"""
