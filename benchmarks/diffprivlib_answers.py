"""Quantiles of diffprivlib, answered in its own environment, since it pins older libraries: rows in, values out.

    PYTHON benchmarks/diffprivlib_answers.py < tasks.json > answers.json

where PYTHON has diffprivlib. A task is `rows`, `at`, `epsilon` of each quantile, `bounds` and `seed`; an answer is a
list of values, None where diffprivlib raises an error, as it does where many rows are equal.
"""

import json
import sys
import warnings
from typing import Any


def _answers(task: dict[str, Any]) -> list[float | None]:
    import numpy as np
    from diffprivlib import tools

    rows, found = np.array(task["rows"]), list[float | None]()
    for i, share in enumerate(task["at"]):
        try:
            seed = task["seed"] * len(task["at"]) + i
            bounds = tuple(task["bounds"])
            found.append(float(tools.quantile(rows, share, epsilon=task["epsilon"], bounds=bounds, random_state=seed)))
        except RuntimeError:
            found.append(None)
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    json.dump([_answers(task) for task in json.load(sys.stdin)], sys.stdout)
