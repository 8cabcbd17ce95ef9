"""Real runs with noise from a seed, for tests that compare one run done in several ways; and one that is killed."""

import numpy as np

from helpers.jobs import killed_at, processes
from pubpriv import curator
from pubpriv.estimators.jobs import Job, run_job
from pubpriv.privacy.noise import Scale, SimulatedNoise


class SeededNoise(SimulatedNoise):
    """Noise that depends on its scale and size alone, so that it is the same drawn ahead or not."""

    private = True

    def __init__(self) -> None:
        super().__init__(5)

    def draw(self, label: str, part: str, sd: Scale, size: int) -> np.ndarray:
        """int64 (size,); the label is not known where noise is drawn ahead."""
        return super().draw("", "", sd, size)


def killed(job: Job, label: str) -> int | None:
    """Exit code of the job in a process of its own, which is killed after the charge of the question `label`."""
    child = processes.Process(target=_dying, args=(job, label))
    child.start()
    child.join(60)
    return child.exitcode


def _dying(job: Job, label: str) -> None:
    curator.OperatingSystemNoise = SeededNoise
    killed_at("after the charge", label)
    run_job(job)
