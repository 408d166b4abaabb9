"""Work of many questions together: one is bounded by `size`, and a workflow may have hundreds of them."""

from typing import Final

from sluicegate.contracts.containment.size import MAX_COST, Size, cost

MAX_STEPS: Final = 20_000.0
"""Of all questions about one workflow: some seconds. Beyond it one more question may be under way, which `size` bounds."""
PAIR: Final = 1.0
CHECK: Final = 0.1
QUESTION: Final = 1.0
READ: Final = 0.1
"""Of a value of a schema that is prepared for the library."""
LOOKED_AT: Final = 0.05
"""Of a value of a schema whose size is taken."""
PATTERN: Final = 0.1
"""Of a character of patterns with repetitions written out."""
DIFFERENCE: Final = 500.0
"""Of a schema of what only one side gives: the library has no bound for it but those of `size`."""
COMPARED: Final = 1e-3
"""Of the unit of `size.cost`: the library makes 10⁷ of these a second where schemas are plain."""
CASES: Final = 20.0
"""Of a pair of cases of both schemas: those that overlap keep the library busy for up to 25 ms. Measured on
benchmarks/schema_bombs.py, no question makes less than some 800 steps a second, and most make more than 20 000."""


def asking(one: Size, other: Size) -> float:
    """Steps of one question to the library; none for one that is too large to be asked."""
    price = cost(one, other)
    if price > MAX_COST or not (one.is_small and other.is_small):
        return 0.0
    return price * COMPARED + (one.cases * other.cases - 1.0) * CASES


class Budget:
    """Steps that are left. The same questions take the same steps, however fast the machine is and whatever is remembered."""

    def __init__(self, steps: float = MAX_STEPS) -> None:
        self.steps = self.left = steps

    def spend(self, steps: float) -> None:
        """What a question took."""
        self.left -= steps

    @property
    def is_spent(self) -> bool:
        """Whether nothing more may be asked."""
        return self.left <= 0
