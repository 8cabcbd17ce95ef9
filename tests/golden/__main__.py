"""Write the golden runs anew."""

from tests.golden import quantile_runs
from tests.golden.runs import write

write()
quantile_runs.write()
