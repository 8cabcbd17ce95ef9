"""Tags of deployments and their runs, which say that they are ours, and of which installation."""

TAG = "pubpriv"
"""Tag of every deployment that `pubpriv deploy` made, and of their runs."""

OF = f"{TAG}-of-"
"""Prefix of the tag that names the installation."""

NOBODY = "unnamed"
"""Installation of deployments that were registered without a name for it."""
