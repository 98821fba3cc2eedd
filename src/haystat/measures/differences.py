"""Every system against every other: which is better, by how much."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from haystat.core.arrays import FloatArray
from haystat.errors import BadOption
from haystat.measures.base import Measure
from haystat.measures.combine import Combination, ForSystems, Joint
from haystat.measures.outputs import Schema


@dataclass(frozen=True)
class Differences(Combination):
    """A measure of every system minus that of every later one.

    measure as in ForSystems; all systems of the pool unless they are named. Pairs come in the
    order of itertools.combinations.
    """

    measure: Measure | Callable[..., Measure]
    systems: Sequence[str] | None = None

    components = ()
    lower_is_better = None

    def __post_init__(self) -> None:
        name = getattr(self.measure, "name", "measure")
        object.__setattr__(self, "name", f"{name} differences")
        if self.systems is not None:
            object.__setattr__(self, "systems", checked_rivals(self.systems))

    def bind(self, schema: Schema) -> Measure:
        """The same differences with everything resolved that depends on the pool."""
        systems = checked_rivals(schema.systems if self.systems is None else self.systems)
        joint = ForSystems(self.measure, systems).bind(schema)
        assert isinstance(joint, Joint)  # what ForSystems is, bound
        width = joint.bounds[1] - joint.bounds[0]
        pairs = combinations((part.components for part in joint.parts), 2)
        return self._resolved(
            **self._over(joint),
            systems=systems,
            name=f"{joint.name} differences",
            components=tuple(
                f"{first} - {second}" for pair in pairs for first, second in zip(*pair, strict=True)
            ),
            bounds=(-width, width),
        )

    def mixed(self, components: FloatArray) -> FloatArray:
        """The first system of each pair minus the second."""
        n_systems = len(self.joint.parts)
        apart = components.reshape(*components.shape[:-1], n_systems, -1)
        first, second = np.triu_indices(n_systems, 1)
        result = apart[..., first, :] - apart[..., second, :]
        return np.asarray(result.reshape(*components.shape[:-1], -1))


def checked_rivals(systems: Sequence[str]) -> tuple[str, ...]:
    """Two or more different systems, or an error."""
    rivals = (systems,) if isinstance(systems, str) else tuple(systems)
    if len(rivals) < 2 or len(set(rivals)) < len(rivals):
        raise BadOption(
            f"systems are {list(rivals)}; a comparison takes two or more different ones: make "
            "the pool with {name: scores, …}"
        )
    return rivals
