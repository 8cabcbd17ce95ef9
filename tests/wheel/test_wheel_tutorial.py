"""The tutorial, typed by somebody who has installed the wheel and nothing else of ours."""

import json
from pathlib import Path

import pytest
from helpers.installed import ROOT

pytestmark = [pytest.mark.wheel, pytest.mark.timeout(600)]

_RUNNER = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import pubpriv
from pages import ran
with ran(Path(sys.argv[2]), {"LOGNAME": "analyst", "OPENBLAS_NUM_THREADS": "1"}) as faults:
    print(json.dumps({"faults": faults, "package": pubpriv.__file__, "left": sorted(map(str, Path().iterdir()))}))
"""


def test_the_tutorial_runs_on_the_wheel(everything, tmp_path):
    """Every command of it, in order, in a fresh folder; what is printed has the shape of what it shows."""
    script = tmp_path / "tutorial.py"
    script.write_text(_RUNNER)
    printed = everything.run(script, ROOT / "tests" / "helpers", ROOT / "docs" / "tutorial.md", program="python")
    told = json.loads(next(line for line in printed.splitlines() if line.startswith("{")))
    assert told["faults"] == []
    assert ROOT not in Path(told["package"]).parents
    assert any(name.endswith(".html") for name in told["left"])
