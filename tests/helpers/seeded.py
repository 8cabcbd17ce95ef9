"""Real runs with noise from a seed, for tests that compare one run done in several ways; and one that is killed."""

import numpy as np

from helpers.forks import processes
from pubpriv import curator
from pubpriv.estimators.jobs import Job, run_job
from pubpriv.privacy.noise import Scale, SimulatedNoise


class SeededNoise(SimulatedNoise):
    """Noise that depends on its scale and size alone, so that it is the same drawn ahead or not."""

    private = True
    seed = 5

    def __init__(self) -> None:
        super().__init__(self.seed)

    def draw(self, label: str, part: str, sd: Scale, size: int) -> np.ndarray:
        """int64 (size,); the label is not known where noise is drawn ahead."""
        return super().draw("", "", sd, size)


def seed_noise() -> None:
    """Let real runs of this process, a child that dies with it, draw their noise from a seed."""
    curator.OperatingSystemNoise = SeededNoise


def killed(job: Job, label: str) -> int | None:
    """Exit code of the job in a process of its own, which is killed after the charge of the question `label`."""
    child = processes.Process(target=_dying, args=(job, label))
    child.start()
    child.join(60)
    return child.exitcode


def _dying(job: Job, label: str) -> None:
    from helpers.jobs import killed_at

    seed_noise()
    killed_at("after the charge", label)
    run_job(job)
