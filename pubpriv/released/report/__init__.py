"""The report page of a release and its pictures, made from released numbers, public rows and prices.

Nothing here uses private rows, so a page costs nothing and may be made again at any time.
"""

from pubpriv.released.report._ellipses import picture
from pubpriv.released.report._history import History
from pubpriv.released.report.page import page, write_report

__all__ = ["History", "page", "picture", "write_report"]
