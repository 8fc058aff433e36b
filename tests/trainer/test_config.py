from __future__ import annotations

import tomllib
from dataclasses import fields, replace
from pathlib import Path

import pytest

from rewards.errors import ConfigurationError
from trainer.config import SETTINGS, Config, apply_settings, read_toml, to_toml
from trainer.loss import objective_of


def test_flags_stay_as_few_as_they_can() -> None:
    # Forty before the losses, engines and layouts of the field were options; whoever adds one
    # looks first for one to remove.
    assert len(fields(Config)) <= 85


def test_the_defaults_are_valid() -> None:
    assert Config().validate() == Config()


def test_the_defaults_are_those_of_the_literature() -> None:
    config = Config()
    assert (config.group_size, config.beta, config.kl_estimator) == (8, 0.04, "k3")
    assert objective_of(config).clip_low == 0.2
    assert (config.advantage_eps, config.temperature) == (1e-6, 1.0)
    assert (config.length_budget, config.min_group_std) == (8192, 0.0)
    assert (config.curriculum_low, config.curriculum_high) == (0.2, 0.8)


def test_settings_read_back_as_they_were_written() -> None:
    config = Config(
        model='a "quoted" \\ name\n', verifier=("a.py:b", "c:d"), level=3, learning_rate=1e-5
    )
    written = to_toml(config, {"git_commit": "abc"})
    data = tomllib.loads(written)
    assert data.pop("provenance") == {"git_commit": "abc"}
    assert apply_settings(Config(), data, "x") == config


def test_how_a_run_was_started_is_not_written_down() -> None:
    written = to_toml(Config(resume=True, dry_run=True, config="x.toml"))
    assert not {"resume", "overwrite", "dry_run", "config"} & tomllib.loads(written).keys()


def test_an_unknown_key_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match=r"run\.toml: unknown setting 'grup_size'.*group_"):
        apply_settings(Config(), {"grup_size": 4}, "run.toml")


def test_a_key_that_is_only_a_flag_is_refused_as_such() -> None:
    with pytest.raises(ConfigurationError, match="flag: --dry-run"):
        apply_settings(Config(), {"dry_run": True}, "run.toml")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("steps", "many"),
        ("steps", 1.5),
        ("steps", True),
        ("seed", None),
        ("learning_rate", "1e-3"),
        ("verifier", "a:b"),
        ("verifier", [1]),
        ("loss", "mean"),
        ("level", "one"),
        ("model", 3),
        ("beta", {"a": 1}),
    ],
)
def test_a_value_of_the_wrong_type_names_its_key(key: str, value: object) -> None:
    with pytest.raises(ConfigurationError, match=f"x: {key} must be"):
        apply_settings(Config(), {key: value}, "x")


def test_an_integer_may_stand_for_a_number() -> None:
    beta = apply_settings(Config(), {"beta": 0}, "x").beta
    assert (beta, type(beta)) == (0.0, float)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("group_size", 1),
        ("steps", -1),
        ("prompts_per_step", 0),
        ("max_new_tokens", 0),
        ("temperature", 0.0),
        ("learning_rate", -1e-6),
        ("learning_rate", float("nan")),
        ("learning_rate", float("inf")),
        ("clip_eps", 1.0),
        ("beta", -0.1),
        ("micro_batch_tokens", 0),
        ("dual_clip", 0.5),
        ("length_weight", 1.0),
        ("rollout_correction_cap", 1.0),
        ("curriculum_low", 1.5),
        ("eval_top_p", 0.0),
        ("gpus", 0),
        ("keep_checkpoints", 0),
        ("eval_samples", 0),
        ("workers", 0),
        ("seed", -1),
    ],
)
def test_a_value_out_of_range_names_key_and_value(key: str, value: float) -> None:
    with pytest.raises(ConfigurationError, match=f"{key} must be .*, not {value}"):
        replace(Config(), **{key: value}).validate()  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["seed", "steps", "max_new_tokens"])
@pytest.mark.parametrize("value", [2**63, 10**18 * 10, 10**30])
def test_an_integer_that_fits_into_no_tensor_is_refused(key: str, value: int) -> None:
    with pytest.raises(ConfigurationError, match=rf"{key} must be below 2\*\*63"):
        replace(Config(), **{key: value}).validate()  # type: ignore[arg-type]


def test_resume_and_overwrite_exclude_each_other() -> None:
    with pytest.raises(ConfigurationError, match="exclude each other"):
        Config(resume=True, overwrite=True).validate()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"none\.toml: No such file"):
        read_toml(tmp_path / "none.toml")


def test_a_file_that_is_not_toml_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("steps 3")
    with pytest.raises(ConfigurationError, match=r"bad\.toml is not valid TOML"):
        read_toml(path)


def test_every_setting_has_a_help_text() -> None:
    import inspect

    source = inspect.getsource(Config)
    for name in SETTINGS:
        _, _, after = source.partition(f"    {name}: ")
        assert after.split("\n")[1].strip().startswith('"""'), name
