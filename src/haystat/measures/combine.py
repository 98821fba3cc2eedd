"""Measures made of measures: several at once, several systems, differences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.errors import BadOption
from haystat.measures.base import Measure
from haystat.measures.facts import Fact, union
from haystat.measures.outputs import Outputs, Schema


class Joint(Measure, ABC):
    """Measures side by side: losses and values are concatenated, the Jacobian is in blocks."""

    parts: tuple[Measure, ...]

    def side_by_side(self) -> tuple[Measure, ...]:
        return tuple(inner for part in self.parts for inner in part.side_by_side())

    def part_weights(self) -> FloatArray:
        """How much the variance of each part counts, (parts,)."""
        return np.ones(len(self.parts))

    def component_weights(self) -> FloatArray:
        pieces = zip(self.part_weights(), self.parts, strict=True)
        return np.concatenate([weight * part.component_weights() for weight, part in pieces])

    def component_bounds(self) -> FloatArray:
        return np.concatenate([part.component_bounds() for part in self.parts])

    def class_count(self) -> int:
        """Number of classes of the pool, as far as a part knows."""
        return max(part.class_count() for part in self.parts)

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        return np.concatenate([part.loss(outputs, label) for part in self.parts], axis=1)

    def value(self, risk: FloatArray) -> FloatArray:
        pieces = zip(self.parts, self._split(risk), strict=True)
        return np.concatenate([part.value(piece) for part, piece in pieces])

    def jacobian(self, risk: FloatArray) -> FloatArray:
        jacobian = np.zeros((len(self.components), self.n_risk))
        row = column = 0
        for part, piece in zip(self.parts, self._split(risk), strict=True):
            block = part.jacobian(piece)
            jacobian[row : row + block.shape[0], column : column + block.shape[1]] = block
            row, column = row + block.shape[0], column + block.shape[1]
        return jacobian

    def facts(self) -> tuple[Fact, ...] | None:
        """All facts of the parts, each once."""
        return union([part.facts() for part in self.parts])

    def support(self, outputs: Outputs, label: IntArray) -> BoolArray:
        return np.asarray(np.any([part.support(outputs, label) for part in self.parts], axis=0))

    def risk(self, outputs: Outputs, label: IntArray, weight: FloatArray) -> FloatArray:
        return np.concatenate([part.risk(outputs, label, weight) for part in self.parts])

    def influence(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        pieces = zip(self.parts, self._split(risk), strict=True)
        return np.concatenate(
            [part.influence(outputs, label, piece) for part, piece in pieces], axis=1
        )

    def sensitivity(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        total = np.zeros(len(outputs))
        for weight, part, piece in zip(
            self.part_weights(), self.parts, self._split(risk), strict=True
        ):
            total += weight * part.sensitivity(outputs, label, piece)
        return total

    def undefined(self, risk: FloatArray) -> str | None:
        """Why some of the value is undefined at this risk, in words; None where all is defined."""
        pieces = zip(self.parts, self._split(risk), strict=True)
        reasons = [part.undefined(piece) for part, piece in pieces]
        return "; ".join(dict.fromkeys(reason for reason in reasons if reason)) or None

    def ratios(self, component: int) -> FloatArray | None:
        """Those of the part that the component belongs to."""
        column = 0
        for part in self.parts:
            if component < len(part.components):
                inner = part.ratios(component)
                if inner is None:
                    return None
                ratios = np.zeros((len(inner), 2, self.n_risk + 1))
                ratios[:, :, column : column + part.n_risk] = inner[:, :, :-1]
                ratios[:, :, -1] = inner[:, :, -1]
                return ratios
            component -= len(part.components)
            column += part.n_risk
        raise IndexError(component)

    def _split(self, risk: FloatArray) -> list[FloatArray]:
        """The risk of each part."""
        ends = np.cumsum([part.n_risk for part in self.parts])[:-1]
        return np.split(risk, ends)

    def _joined(self, parts: Sequence[Measure]) -> dict[str, object]:
        """The attributes that follow from the parts."""
        return {
            "parts": tuple(parts),
            "components": tuple(name for part in parts for name in part.components),
            "bounds": (
                min(part.bounds[0] for part in parts),
                max(part.bounds[1] for part in parts),
            ),
            "n_risk": sum(part.n_risk for part in parts),
            "scale_free": all(part.scale_free for part in parts),
        }


@dataclass(frozen=True)
class Several(Joint):
    """Several measures at once, estimated from the same labels.

    weights: how much the variance of each measure counts when items are chosen, 1 by default. A
    measure on a large scale, such as a squared error beside an accuracy, deserves a small one.
    """

    measures: Sequence[Measure]
    weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        measures = tuple(self.measures)
        if not measures or not all(isinstance(measure, Measure) for measure in measures):
            raise BadOption(
                f"{list(measures)!r} is not a list of measures; `resolve` takes names too"
            )
        object.__setattr__(self, "measures", measures)
        if self.weights is not None:
            object.__setattr__(self, "weights", _checked_weights(self.weights, len(measures)))
        object.__setattr__(self, "name", ", ".join(measure.name for measure in measures))
        for name, value in self._joined(measures).items():
            object.__setattr__(self, name, value)

    def bind(self, schema: Schema) -> Measure:
        """The same measures with everything resolved that depends on the pool."""
        return self._resolved(**self._joined([part.bind(schema) for part in self.measures]))

    def for_system(self, system: str) -> Measure:
        """The same measures of another system, not bound to a pool."""
        return Several([measure.for_system(system) for measure in self.measures], self.weights)

    def weighted_by(self, weighted: Callable[[Measure], Measure]) -> Measure:
        """Each of the measures with weights, so that each is estimated as it is alone."""
        return Several([measure.weighted_by(weighted) for measure in self.measures], self.weights)

    def part_weights(self) -> FloatArray:
        return super().part_weights() if self.weights is None else np.array(self.weights)


@dataclass(frozen=True)
class ForSystems(Joint):
    """One measure of several systems, all of the pool's unless they are named.

    measure is a measure, or a callable such as a measure's class that takes `system`.
    """

    measure: Measure | Callable[..., Measure]
    systems: Sequence[str] | None = None

    parts = ()
    components = ()

    def __post_init__(self) -> None:
        if self.systems is not None:
            object.__setattr__(self, "systems", tuple(self.systems))
            if not self.systems:
                raise BadOption("`systems` is empty; name one or more, or leave it out for all")
        name = getattr(self.measure, "name", "measure")
        object.__setattr__(self, "name", name)

    def bind(self, schema: Schema) -> Measure:
        """One bound measure for each system."""
        systems = schema.systems if self.systems is None else self.systems
        own = [_for_system(self.measure, system) for system in systems]
        if all(part == own[0] for part in own):  # whatever the systems say, as of prevalence
            own = own[:1]
        parts = [part.bind(schema) for part in own]
        return self._resolved(name=parts[0].name, **self._joined(parts))


class Combination(Measure, ABC):
    """A linear map of the components of measures side by side."""

    joint: Joint

    @abstractmethod
    def mixed(self, components: FloatArray) -> FloatArray:
        """The linear map along the last axis: (…, components of the joint measure) -> (…, m)."""

    def class_count(self) -> int:
        """Number of classes of the pool, as far as a part knows."""
        return self.joint.class_count()

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        return self.joint.loss(outputs, label)

    def value(self, risk: FloatArray) -> FloatArray:
        return self.mixed(self.joint.value(risk))

    def jacobian(self, risk: FloatArray) -> FloatArray:
        return self.mixed(self.joint.jacobian(risk).T).T

    def facts(self) -> tuple[Fact, ...] | None:
        """All facts of the parts, each once."""
        return self.joint.facts()

    def support(self, outputs: Outputs, label: IntArray) -> BoolArray:
        return self.joint.support(outputs, label)

    def risk(self, outputs: Outputs, label: IntArray, weight: FloatArray) -> FloatArray:
        return self.joint.risk(outputs, label, weight)

    def influence(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        return self.mixed(self.joint.influence(outputs, label, risk))

    def ratios(self, component: int) -> FloatArray | None:
        """Those of the joint measure's components, each times its coefficient."""
        coefficients = self.mixed(np.eye(len(self.joint.components)))[:, component]
        terms = []
        for index in np.flatnonzero(coefficients):
            inner = self.joint.ratios(int(index))
            if inner is None:
                return None
            terms.append(inner * np.array([coefficients[index], 1.0])[:, None])
        return np.concatenate(terms)

    def undefined(self, risk: FloatArray) -> str | None:
        """Why some of the value is undefined at this risk, in words; None where all is defined."""
        return self.joint.undefined(risk)

    def _over(self, joint: Joint) -> dict[str, object]:
        """The attributes that follow from the measures side by side."""
        return {"joint": joint, "n_risk": joint.n_risk, "scale_free": joint.scale_free}


@dataclass(frozen=True)
class Difference(Combination):
    """A measure of one system minus the same measure of another."""

    measure: Measure | Callable[..., Measure]
    system_a: str
    system_b: str

    lower_is_better = None

    def __post_init__(self) -> None:
        name = getattr(self.measure, "name", "measure")
        object.__setattr__(self, "name", f"{name} difference")

    def bind(self, schema: Schema) -> Measure:
        """The same difference with everything resolved that depends on the pool."""
        one, other = (
            _for_system(self.measure, system).bind(schema)
            for system in (self.system_a, self.system_b)
        )
        joint = Several([one, other])
        width = joint.bounds[1] - joint.bounds[0]
        return self._resolved(
            **self._over(joint),
            name=f"{one.name} difference",
            components=tuple(
                f"{first} - {second}"
                for first, second in zip(one.components, other.components, strict=True)
            ),
            bounds=(-width, width),
        )

    def mixed(self, components: FloatArray) -> FloatArray:
        """First half minus second half."""
        half = components.shape[-1] // 2
        return components[..., :half] - components[..., half:]


def _for_system(measure: Measure | Callable[..., Measure], system: str) -> Measure:
    return measure.for_system(system) if isinstance(measure, Measure) else measure(system=system)


def _checked_weights(weights: Sequence[float], n_measures: int) -> tuple[float, ...]:
    given = np.asarray(weights, dtype=object)
    numbers = [w for w in given.ravel() if isinstance(w, int | float | np.number)]
    usable = given.ndim == 1 and len(numbers) == len(given) == n_measures
    if not usable or not all(np.isfinite(w) and w >= 0 for w in numbers) or not any(numbers):
        raise BadOption(
            f"weights are {list(weights)!r} for {n_measures} measures; give one number of at "
            "least 0 for each, not all 0"
        )
    return tuple(float(w) for w in numbers)
