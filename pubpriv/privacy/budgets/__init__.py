"""The three kinds of budget, their caps and prices, and amounts.

| kind | cap that is enforced | may be charged |
|---|---|---|
| `PureDP(epsilon)` | sum of epsilon | pure mechanisms |
| `ZeroConcentratedDP(rho)` | sum of rho | Gaussian at mu^2/2; pure at epsilon tanh(epsilon/2) |
| `ApproximateDP(epsilon, delta)` | sums of mu^2 and failure terms | Gaussian, sd >= 2^20; pure at its mu^2 |

Every cap holds even though each charge may be chosen after seeing all earlier answers; the proofs are in the
classes. No figure here is from a privacy loss distribution: those are no guarantee for adaptive charges.

What the proofs assume. Fix two neighbouring tables, and let P and Q be the laws of the transcript on them:
all charges of a dataset in the order of its chain, with their answers.

- *Whoever asks sees everything.* Labels, questions, noise scales, the order, how runs interleave, and when one
  stops may be any function of the transcript so far and of independent randomness.
- *The price comes first.* It is computed from the stored question alone and appended, in one transaction at
  a time per dataset, before a row is read. So the price of charge i is fixed by the transcript before answer i.
- *The stopping rule is a refusal.* A charge that would carry a sum past the cap is refused, and a refusal is a
  function of prices. Sums are of integers, costs rounded up and caps down, so on **every** transcript the sum
  of true costs is at most the cap. A price is at least one unit, so every transcript is finite.
- *Late answers.* A run may charge while the answer of a concurrent run is still missing. Suppose that this answer
  is drawn when it is charged and shown later: the law is the same, and later questions merely know less.
- *Resuming.* A charge is resumed with its stored question. Several attempts may draw, at most one draw is
  published, and which one does not depend on its value; so the transcript has one answer per charge.
- *Holds* only refuse more: a charge is taken from its run's hold, and spent and held together fit the cap.

- *Raising* a cap replaces the promise: from then on the raised cap holds, for old answers too. If a cap is
  raised because of answers, the promise is the largest cap that would ever have been agreed to.

The same argument over the charges of one run, everything else given, shows that its allotment bounds what
that run adds.
"""

from pubpriv.privacy.budgets.amounts import Amount
from pubpriv.privacy.budgets.approx import ApproximateDP
from pubpriv.privacy.budgets.budget import REPORT_DELTA, Budget
from pubpriv.privacy.budgets.kinds import KINDS, BudgetLike, budget_from_json, budget_of, parse_budget
from pubpriv.privacy.budgets.pure import PureDP
from pubpriv.privacy.budgets.purse import Purse, percent
from pubpriv.privacy.budgets.zcdp import ZeroConcentratedDP

__all__ = [
    "KINDS",
    "REPORT_DELTA",
    "Amount",
    "ApproximateDP",
    "Budget",
    "BudgetLike",
    "PureDP",
    "Purse",
    "ZeroConcentratedDP",
    "budget_from_json",
    "budget_of",
    "parse_budget",
    "percent",
]
