"""Parse dates and times in ISO 8601, each from its own text.

The extended and the basic form are read, and what programs write: a blank or `t` between date and time, a comma before
the fraction of a second, `24:00` for the end of a day; zones as `Z`, `UTC`, `+01`, `+0100`, `+01:00` or, as PostgreSQL
writes old ones, `+00:53:28`. A basic date without a time, `20260131`, is a number.
"""

import re
from datetime import date

_CLOCK = rb"(?P<hour>\d\d)(?:COLON(?P<minute>\d\d)(?:COLON(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?)?"
_ZONE = rb"(?: ?(?:Z|z|UTC|GMT|(?P<sign>[+-])(?P<zone>\d\d)(?::?(?P<zone_minute>\d\d)(?::?(?P<zone_second>\d\d))?)?))?"
_EXTENDED = re.compile(
    rb"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?:[ Tt]" + _CLOCK.replace(b"COLON", b":") + _ZONE + b")?"
)
_BASIC = re.compile(rb"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)[Tt]" + _CLOCK.replace(b"COLON", b"") + _ZONE)

_EPOCH = date(1970, 1, 1).toordinal()
_SECOND = 1_000_000_000
_DAY, _HOUR, _MINUTE = 86_400, 3600, 60
_DIGITS = 9

NANOSECONDS_PER_DAY = _DAY * _SECOND


def nanoseconds_in(text: bytes) -> int | None:
    """Parse one text to nanoseconds since the beginning of 1970, in UTC if no zone is given; None if it is no date.

    Digits beyond a nanosecond are dropped, so a time stays within its day.
    """
    match = _EXTENDED.fullmatch(text) or _BASIC.fullmatch(text)
    if match is None:
        return None
    written = match.groupdict(default=b"0")
    try:
        day = date(int(written["year"]), int(written["month"]), int(written["day"])).toordinal() - _EPOCH
    except ValueError:  # the 30th of February
        return None
    fraction = int(written["fraction"][:_DIGITS].ljust(_DIGITS, b"0"))
    since_midnight = _seconds(written["hour"], written["minute"], written["second"])
    east = _seconds(written["zone"], written["zone_minute"], written["zone_second"])
    if since_midnight is None or east is None or (since_midnight, fraction) > (_DAY, 0) or east >= _DAY:
        return None
    east = -east if written["sign"] == b"-" else east
    return (day * _DAY + since_midnight - east) * _SECOND + fraction


def _seconds(hours: bytes, minutes: bytes, seconds: bytes) -> int | None:
    """Seconds of a time of the day, or of a zone's distance from UTC; None if there is no such time."""
    if int(minutes) >= _MINUTE or int(seconds) >= _MINUTE:
        return None
    return int(hours) * _HOUR + int(minutes) * _MINUTE + int(seconds)
