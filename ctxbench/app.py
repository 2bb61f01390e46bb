"""The Hydra entry: configuration -> parts -> task -> run folder -> report."""

import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from ctxbench.conversation.dataset import Dataset
from ctxbench.conversation.model import conversation_to_dict
from ctxbench.errors import CtxbenchError
from ctxbench.files import append_lines
from ctxbench.parts import Choices, build_dataset
from ctxbench.plugins import named, register, with_implied
from ctxbench.plugins import package_versions as plugin_versions
from ctxbench.resources import configs_folder
from ctxbench.runs.folder import RunFolder
from ctxbench.runs.provenance import git_state, package_versions, sha256_of
from ctxbench.sweep import JOB_ERROR, failed_jobs
from ctxbench.tasks import estimation, retention

TASKS = {"retention": retention, "estimation": estimation}

_failures: list[Exception] = []
"""What went wrong in a run that is no sweep; raised through Hydra it would be printed twice."""


def run_app(arguments: list[str]) -> int:
    """Run one experiment, or with `-m` a sweep; returns the exit code."""
    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors come here instead of being printed by Hydra
    _register_resolvers()
    register()
    failed_jobs.clear()
    sys.argv = ["ctxbench", *with_implied(arguments)]
    hydra.main(version_base="1.3", config_path=str(configs_folder()), config_name="config")(_job)()
    if _failures:
        raise _failures.pop()
    if failed_jobs:
        count = f"{len(failed_jobs)} {'job' if len(failed_jobs) == 1 else 'jobs'}"
        raise CtxbenchError(f"{count} of the sweep failed ({failed_jobs[0]} tells why); the others are reported")
    return 0


def composed(overrides: list[str]) -> tuple[DictConfig, Choices]:
    """The configuration with overrides and what was chosen, for commands that run inside no Hydra job."""
    _register_resolvers()
    register()
    overrides = with_implied(overrides)
    with hydra.initialize_config_dir(version_base="1.3", config_dir=str(configs_folder())):
        config = hydra.compose("config", overrides, return_hydra_config=True)
        choices = dict(config.hydra.runtime.choices)
        return hydra.compose("config", overrides), choices


def _register_resolvers() -> None:
    OmegaConf.register_new_resolver("run_folder", _run_folder, use_cache=True, replace=True)
    OmegaConf.register_new_resolver("processes", _processes, replace=True)


def _run_folder(resume: str | None, results: str) -> str:
    if resume:
        return resume
    return str(Path(results) / "runs" / f"{datetime.now():%Y-%m-%d_%H-%M-%S-%f}"[:-3])


def _processes(jobs: object) -> int:
    if not isinstance(jobs, int) or jobs < -1 or jobs == 0:
        raise CtxbenchError(f"jobs is {jobs}; give 1 or more, or -1 for one on each core")
    return jobs


def _job(config: DictConfig) -> None:
    """One job; in a sweep, a failed one is said and the others go on."""
    hydra_config = HydraConfig.get()
    sweep = hydra_config.mode == RunMode.MULTIRUN
    folder = _shown(hydra_config.runtime.output_dir)
    try:
        run_experiment(config, dict(hydra_config.runtime.choices), folder, sweep=sweep)
    except Exception as error:
        if not sweep:
            _failures.append(error)
            return
        job = f"job {hydra_config.job.num} ({hydra_config.job.override_dirname})"
        print(f"ctxbench: {job}: {error}", file=sys.stderr)
        append_lines(folder / JOB_ERROR, f"{error}\n".encode(errors="backslashreplace"))


def _shown(folder: str) -> Path:
    """The folder as the user would type it: relative where it is below the working folder."""
    path, here = Path(folder), Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def run_experiment(config: DictConfig, choices: Choices, path: Path, *, sweep: bool = False) -> None:
    """Run or resume the experiment of a configuration in the folder `path`, and report it."""
    started = time.perf_counter()
    if missing := OmegaConf.missing_keys(config):
        raise CtxbenchError(f"no value for {', '.join(sorted(missing))}; give one as NAME=VALUE")
    if config.resume:
        folder = RunFolder.open(Path(config.resume))
        described = folder.description()
        config, choices = OmegaConf.create(described["config_source"]), described["choices"]
        dataset = build_dataset(config.dataset)
        if dataset_facts(dataset) != described["dataset"]:
            raise CtxbenchError(f"{folder.path}: the dataset has changed since this run began; start a new run")
    else:
        dataset = build_dataset(config.dataset)
        choices = named(choices, config.strategy)
        folder = RunFolder.create(path, describe(config, choices, dataset))
    task = TASKS[config.task.name]
    try:
        task.run(config, choices, dataset, folder)
    except KeyboardInterrupt:
        print(f"interrupted; what was done is kept: continue with resume={folder.path}", file=sys.stderr)
        raise
    except CtxbenchError as error:
        if not folder.rows("done"):
            raise
        raise CtxbenchError(f"{error}; what was done is kept: continue with resume={folder.path}") from error
    task.report(folder, quiet=sweep)
    end = f" ({time.perf_counter() - started:.1f} s)" if sweep else ""
    print(f"run: {folder.path}{end}", flush=True)


def describe(config: DictConfig, choices: Choices, dataset: Dataset) -> dict[str, Any]:
    """What `run.json` says of a run."""
    plain = {group: name for group, name in choices.items() if not group.startswith("hydra/")}
    return {
        "task": config.task.name,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "choices": plain,
        "overrides": list(HydraConfig.get().overrides.task) if HydraConfig.initialized() else [],
        "seed": config.seed,
        "dataset": dataset_facts(dataset),
        "git": git_state(),
        "packages": package_versions() | plugin_versions(),
        "config": OmegaConf.to_container(config, resolve=True),
        "config_source": OmegaConf.to_container(config, resolve=False),
    }


def dataset_facts(dataset: Dataset) -> dict[str, Any]:
    """What a run says of its data: name, hash, counts, languages."""
    conversations = dataset.conversations
    return {
        "name": dataset.name,
        "sha256": sha256_of(map(conversation_to_dict, conversations)),
        "conversations": len(conversations),
        "messages": sum(len(conversation.messages) for conversation in conversations),
        "probes": sum(len(conversation.probes) for conversation in conversations),
        "languages": sorted({conversation.language for conversation in conversations}),
    }
