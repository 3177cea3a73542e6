"""What the environment's variables set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpu_core.config.layers import Given, KeyPath, Layer, Origin, Source
from gpu_core.config.options import Option
from gpu_core.config.problems import Problem, Problems
from gpu_core.config.texts import from_variable


def environment_layer(options: Sequence[Option], environ: Mapping[str, str]) -> tuple[Layer, Problems]:
    """Return what the variables set. Of several for one option, the first that is defined counts, even empty."""
    layer: dict[KeyPath, Given] = {}
    problems: list[Problem] = []
    for option in options:
        variable = next((name for name in option.variables if name in environ), None)
        if variable is None:
            continue
        origin = Origin(source=Source.ENVIRONMENT, name=variable)
        try:
            value = from_variable(option, environ[variable])
        except ValueError as error:
            problems.append(Problem(message=str(error), where=str(origin), source=origin.source))
            continue
        if value is not None:
            layer[option.path] = Given(value=value, origin=origin)
    return layer, Problems(tuple(problems))
