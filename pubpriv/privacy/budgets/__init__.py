"""The three kinds of budget, what each may hold in all, and amounts of it.

| kind | cap that is enforced | may be charged |
|---|---|---|
| `PureDP(epsilon)` | sum of epsilon | pure mechanisms |
| `ZeroConcentratedDP(rho)` | sum of rho | Gaussian at mu^2/2; pure at epsilon tanh(epsilon/2) |
| `ApproximateDP(epsilon, delta)` | sums of mu^2 and failure terms | Gaussian, sd >= 2^20; pure at its mu^2 |

Every cap holds although each charge may be chosen after seeing all answers before it; the proofs are in the
classes. Nothing here is a privacy-loss-distribution figure: those are no guarantee for adaptive charges.

What the proofs rest on. Fix two neighbouring tables, and let P and Q be the laws of the transcript on them:
all charges of a dataset in the order of its chain, with their answers.

- *Whoever asks sees everything.* Labels, questions, noise scales, the order, how runs interleave, when one
  stops: any function of the transcript so far and of randomness of their own.
- *The price comes first.* It is worked out from the stored question alone and appended, in one transaction at
  a time per dataset, before a row is read. So the price of charge i is fixed by the transcript before answer i.
- *The stopping rule is a refusal.* A charge that would carry a sum past the cap is refused, and a refusal is a
  function of prices. Sums are of integers, costs rounded up and caps down, so on **every** transcript the sum
  of true costs is at most the cap. A price is at least one unit, so every transcript is finite.
- *Late answers.* Of concurrent runs one may charge while the answer of another is still out. Draw that answer
  when it is charged and show it later: the law is the same, and later questions merely know less.
- *Resuming.* A charge is resumed with its stored question. Several attempts may draw, at most one draw is
  published, and which one does not depend on its value; so the transcript has one answer per charge.
- *Holds* only refuse more: a charge is taken from its run's hold, and spent and held together fit the cap.

- *Raising* a cap replaces the promise: from then on the raised cap is what holds, for old answers too. Who
  raises because of what answers said is bound by the largest cap they would ever have agreed to.

The same argument over the charges of one run, everything else given, makes its allotment the bound on what
that run adds.
"""

from pubpriv.privacy.budgets.amounts import Amount
from pubpriv.privacy.budgets.approx import ApproximateDP
from pubpriv.privacy.budgets.budget import REPORT_DELTA, Budget
from pubpriv.privacy.budgets.kinds import KINDS, BudgetLike, budget_from_json, budget_of, parse_budget
from pubpriv.privacy.budgets.pure import PureDP
from pubpriv.privacy.budgets.purse import Purse
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
]
