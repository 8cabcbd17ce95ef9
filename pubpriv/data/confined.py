"""Base class of objects with private rows, which must stay in their process."""

from typing import NoReturn


class Confined:
    """Holds private rows, or values computed from single rows; cannot be pickled or copied, and shows none of them."""

    def __reduce__(self) -> NoReturn:
        """Refuse to pickle."""
        raise TypeError(f"{type(self).__name__} holds rows, which are not pickled")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"
