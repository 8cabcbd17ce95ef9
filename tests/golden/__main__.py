"""Write the golden runs anew."""

from tests.golden.runs import write

write()
