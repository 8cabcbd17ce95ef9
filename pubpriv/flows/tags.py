"""Tags of deployments, and so of their runs: that they are ours, and of which installation."""

TAG = "pubpriv"
"""Tag of every deployment that `pubpriv deploy` made, and so on the runs that they start."""

OF = f"{TAG}-of-"
"""What the tag begins with that names the installation."""

NOBODY = "unnamed"
"""Installation of deployments that were registered without a name for it."""
