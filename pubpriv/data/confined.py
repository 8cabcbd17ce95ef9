"""What holds private rows stays in its process."""

from typing import NoReturn


class Confined:
    """Holds rows, or what is computed of single rows: it is not pickled or copied, and shows none of them."""

    def __reduce__(self) -> NoReturn:
        """Rows do not leave the process."""
        raise TypeError(f"{type(self).__name__} holds rows, which are not pickled")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"
