# SPDX-License-Identifier: Apache-2.0
"""Other tuners for the games, used on a grid as their users would. They run in build/bench-tuner/.

An ordered axis is passed as the index of its value (in even steps, for any scale), one without order as categories.
All peers get the same number of initial points. Points that a peer asks again are evaluations like any other. Each peer
has its way to recommend. HEBO and optuna's Gaussian processes are left out, because they need torch (gigabytes).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.tuner.games import INITIAL
from reprise.tuner.model.space import Parameter, Parametrization, Space


class Peer:
    """The common part of all drivers: points from indices, and the observations."""

    def __init__(self, space: Space, seed: int, budget: int, noisy: bool) -> None:
        self.space = space
        self.told: list[tuple[float, Parametrization]] = []

    def point(self, indices: Mapping[str, Any]) -> Parametrization:
        """Return the point with these indices."""
        return {parameter.name: parameter.values[int(indices[parameter.name])] for parameter in self.space.parameters}

    def ask(self) -> Parametrization:
        """Return the next point."""
        raise NotImplementedError

    def tell(self, point: Parametrization, value: float) -> None:
        """Report the value of a point."""
        raise NotImplementedError

    def best(self) -> Parametrization:
        """Return the point with the lowest value seen, as most tuners do."""
        return min(self.told, key=lambda told: told[0])[1]


def ordered(parameter: Parameter) -> bool:
    """Return whether the values of a parameter have an order."""
    return parameter.kind != "category"


class Optuna(Peer):
    """Optuna's default sampler, TPE."""

    def __init__(self, space: Space, seed: int, budget: int, noisy: bool) -> None:
        import optuna

        super().__init__(space, seed, budget, noisy)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.TPESampler(n_startup_trials=INITIAL, seed=seed)
        self._study = optuna.create_study(sampler=sampler)

    def ask(self) -> Parametrization:
        """Return the next point."""
        self._trial = self._study.ask()
        return self.point({p.name: self._suggest(p) for p in self.space.parameters})

    def _suggest(self, parameter: Parameter) -> int:
        last = len(parameter.values) - 1
        if ordered(parameter):
            return self._trial.suggest_int(parameter.name, 0, last)
        return int(self._trial.suggest_categorical(parameter.name, range(last + 1)))

    def tell(self, point: Parametrization, value: float) -> None:
        """Report the value of a point."""
        self._study.tell(self._trial, value)
        self.told.append((value, point))


class Skopt(Peer):
    """The Gaussian process of scikit-optimize; sampling its acquisition function takes a third of the time."""

    def __init__(self, space: Space, seed: int, budget: int, noisy: bool) -> None:
        import skopt

        super().__init__(space, seed, budget, noisy)
        axes = [
            skopt.space.Integer(0, len(p.values) - 1) if ordered(p) else skopt.space.Categorical(range(len(p.values)))
            for p in space.parameters
            if len(p.values) > 1
        ]
        self._names = [p.name for p in space.parameters if len(p.values) > 1]
        self._optimizer = skopt.Optimizer(
            axes, n_initial_points=INITIAL, acq_func="EI", acq_optimizer="sampling", random_state=seed
        )
        self._asked: list[Any] = []

    def ask(self) -> Parametrization:
        """Return the next point."""
        self._asked = self._optimizer.ask()
        single = {p.name: 0 for p in self.space.parameters}
        return self.point({**single, **dict(zip(self._names, self._asked, strict=True))})

    def tell(self, point: Parametrization, value: float) -> None:
        """Report the value of a point."""
        self._optimizer.tell(self._asked, value)
        self.told.append((value, point))


class Hyperopt(Peer):
    """TPE, without the loop of `fmin`."""

    def __init__(self, space: Space, seed: int, budget: int, noisy: bool) -> None:
        import hyperopt
        import numpy as np

        super().__init__(space, seed, budget, noisy)
        hp = hyperopt.hp
        axes = {
            p.name: hp.quniform(p.name, 0, len(p.values) - 1, 1)
            if ordered(p) and len(p.values) > 1
            else hp.choice(p.name, list(range(len(p.values))))
            for p in space.parameters
        }
        self._hyperopt, self._axes, self._rng = hyperopt, axes, np.random.default_rng(seed)
        self._trials = hyperopt.Trials()
        self._domain = hyperopt.base.Domain(lambda _: 0.0, axes)

    def ask(self) -> Parametrization:
        """Return the next point."""
        (number,) = self._trials.new_trial_ids(1)
        self._trials.refresh()
        seed = int(self._rng.integers(2**31 - 1))
        documents = self._hyperopt.tpe.suggest([number], self._domain, self._trials, seed, n_startup_jobs=INITIAL)
        self._trials.insert_trial_docs(documents)
        self._trials.refresh()
        values = {name: value[0] for name, value in documents[0]["misc"]["vals"].items()}
        return self.point(self._hyperopt.space_eval(self._axes, values))

    def tell(self, point: Parametrization, value: float) -> None:
        """Report the value of a point."""
        trial = self._trials._dynamic_trials[-1]
        trial["result"] = {"loss": value, "status": self._hyperopt.STATUS_OK}
        trial["state"] = self._hyperopt.JOB_STATE_DONE
        self._trials.refresh()
        self.told.append((value, point))


class Nevergrad(Peer):
    """Nevergrad's default optimizer."""

    def __init__(self, space: Space, seed: int, budget: int, noisy: bool) -> None:
        import nevergrad as ng

        super().__init__(space, seed, budget, noisy)
        axes = {
            p.name: (ng.p.TransitionChoice if ordered(p) else ng.p.Choice)(range(len(p.values)))
            for p in space.parameters
        }
        parametrization = ng.p.Instrumentation(**axes)
        parametrization.random_state.seed(seed)
        parametrization.function.deterministic = not noisy
        self._optimizer = ng.optimizers.NGOpt(parametrization=parametrization, budget=budget)

    def ask(self) -> Parametrization:
        """Return the next point."""
        self._candidate = self._optimizer.ask()
        return self.point(self._candidate.kwargs)

    def tell(self, point: Parametrization, value: float) -> None:
        """Report the value of a point."""
        self._optimizer.tell(self._candidate, value)

    def best(self) -> Parametrization:
        """Return nevergrad's recommendation."""
        return self.point(self._optimizer.provide_recommendation().kwargs)


def _never_called(config: Any, seed: int = 0) -> float:
    """Stand in for the target function that SMAC3 requires even if only its ask and `tell` are used."""
    raise NotImplementedError(config, seed)


class Smac(Peer):
    """The facade for hyperparameters (a random forest), with a tenth of its random challengers: grids are small.

    Under noise it is configured for that, and measures its incumbents again by its rules.
    """

    def __init__(self, space: Space, seed: int, budget: int, noisy: bool) -> None:
        import smac
        from ConfigSpace import CategoricalHyperparameter, ConfigurationSpace, Constant, UniformIntegerHyperparameter

        super().__init__(space, seed, budget, noisy)
        grid = ConfigurationSpace(seed=seed)
        for p in space.parameters:
            last = len(p.values) - 1
            if last == 0:
                grid.add(Constant(p.name, 0))
            elif ordered(p):
                grid.add(UniformIntegerHyperparameter(p.name, 0, last))
            else:
                grid.add(CategoricalHyperparameter(p.name, list(range(last + 1))))
        facade = smac.HyperparameterOptimizationFacade
        self._directory = TemporaryDirectory()
        scenario = smac.Scenario(
            grid,
            deterministic=not noisy,
            n_trials=budget,
            seed=seed,
            output_directory=Path(self._directory.name),
        )
        self._smac = facade(
            scenario,
            _never_called,
            initial_design=facade.get_initial_design(scenario, n_configs=INITIAL, max_ratio=1.0),
            acquisition_maximizer=facade.get_acquisition_maximizer(scenario, challengers=1000),
            logging_level=False,
            overwrite=True,
        )

    def ask(self) -> Parametrization | None:  # type: ignore[override]  # the others always find one
        """Return the next point, None if 16 attempts find no new one, as on small grids."""
        from smac.main.exceptions import ConfigurationSpaceExhaustedException

        try:
            self._info = self._smac.ask()
        except ConfigurationSpaceExhaustedException:
            return None
        return self.point(dict(self._info.config))

    def tell(self, point: Parametrization, value: float) -> None:
        """Report the value of a point."""
        from smac.runhistory.dataclasses import TrialValue

        self._smac.tell(self._info, TrialValue(cost=value), save=False)

    def best(self) -> Parametrization:
        """Return the incumbent."""
        (incumbent,) = self._smac.intensifier.get_incumbents()
        return self.point(dict(incumbent))


PEERS: Mapping[str, type[Peer]] = {
    "optuna-tpe": Optuna,
    "skopt-gp": Skopt,
    "hyperopt-tpe": Hyperopt,
    "nevergrad": Nevergrad,
    "smac3": Smac,
}
