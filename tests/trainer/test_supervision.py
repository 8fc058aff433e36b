from __future__ import annotations

import random
import statistics
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from rewards import Score
from trainer.config import Config
from trainer.rollout import Sample
from trainer.supervision import STRIDE, StepRewards, end_tokens, step_rewards, token_advantages

EOS = 256


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    """One token a byte, so that one character may be four tokens; 256 ends a sequence."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    by_byte = {letter: i for i, letter in enumerate(alphabet)}
    core = Tokenizer(models.BPE(vocab={**by_byte, "<eos>": EOS}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<eos>")


@pytest.fixture(scope="module")
def spaced() -> PreTrainedTokenizerFast:
    """Whole words with the space before them, which the first one of a text loses."""
    words = [f"▁{word}" for word in "abcdefgh"] + ["▁long", "▁", "\n", "<eos>"]
    core = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<eos>"))
    core.decoder = decoders.Metaspace()
    return PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<eos>")


def sample_of(tokenizer: PreTrainedTokenizerFast, ids: list[int]) -> Sample:
    text = str(tokenizer.decode(ids, skip_special_tokens=True))
    return Sample(tuple(ids), (0.0,) * len(ids), "stop", text)


def by_prefixes(tokenizer: PreTrainedTokenizerFast, ids: list[int], offset: int) -> int:
    """Decode every prefix: the definition, in quadratic time."""
    for n in range(len(ids)):
        text = str(tokenizer.decode(ids[: n + 1], skip_special_tokens=True))
        if len(text.rstrip("\ufffd")) >= offset:
            return n
    return len(ids) - 1


def steps(*pairs: tuple[int, float], num_tokens: int, added: float = 0.0) -> StepRewards:
    values = tuple(value for _, value in pairs)
    rewards = (*values[:-1], values[-1] + added)
    return StepRewards(tuple(end for end, _ in pairs), values, rewards, num_tokens)


def test_a_worked_example_of_process_supervision() -> None:
    # DeepSeekMath 4.1.3. R = {{1, 0}, {1, 1, 0}}: mean 0.6, std sqrt(0.24).
    config = Config(advantage_eps=1e-9)
    first, second = token_advantages(
        [
            [
                steps((1, 1.0), (3, 0.0), num_tokens=5),
                steps((0, 1.0), (1, 1.0), (3, 0.0), num_tokens=4),
            ]
        ],
        config,
    )[0]
    good, bad = 0.4 / 0.24**0.5, -0.6 / 0.24**0.5
    assert first == pytest.approx([good + bad, good + bad, bad, bad, 0.0])
    assert second == pytest.approx([2 * good + bad, good + bad, bad, bad])


def test_steps_are_normalised_over_the_whole_group() -> None:
    rng = random.Random(0)
    group = [
        steps(*((end, rng.random()) for end in range(count)), num_tokens=count)
        for count in (1, 4, 2)
    ]
    values = [value for one in group for value in one.values]
    mean, std = statistics.mean(values), statistics.pstdev(values) + 1e-6
    got = token_advantages([group], Config())[0]
    for one, advantages in zip(group, got, strict=True):
        normalised = [(value - mean) / std for value in one.values]
        assert advantages == pytest.approx([sum(normalised[t:]) for t in range(one.num_tokens)])


def test_one_step_at_the_end_of_each_completion_is_outcome_supervision() -> None:
    group = [steps((2, 1.0), num_tokens=3), steps((4, 0.0), num_tokens=5)]
    got = token_advantages([group], Config(advantage_eps=1e-9))[0]
    assert got[0] == pytest.approx([1.0] * 3)
    assert got[1] == pytest.approx([-1.0] * 5)


def test_steps_that_do_not_spread_teach_nothing() -> None:
    group = [steps((0, 0.1 + 0.2), num_tokens=2), steps((0, 0.3), (1, 0.3), num_tokens=2)]
    assert token_advantages([group], Config()) == [[None, None]]


def test_an_unjudged_completion_gets_nothing_and_changes_nothing() -> None:
    group = [steps((0, 1.0), num_tokens=1), steps((0, 0.0), num_tokens=1)]
    expected = token_advantages([group], Config())[0]
    assert token_advantages([[group[0], None, group[1]]], Config())[0] == [
        expected[0],
        None,
        expected[1],
    ]


def test_groups_of_steps_do_not_influence_each_other() -> None:
    one = [steps((0, 1.0), num_tokens=1), steps((0, 0.0), num_tokens=1)]
    other = [steps((0, 9.0), (1, 3.0), num_tokens=2), None]
    assert token_advantages([one, other], Config())[0] == token_advantages([one], Config())[0]


def test_the_settings_of_advantages_hold_for_steps() -> None:
    group = [steps((0, 1.0), (1, 1.0), num_tokens=2), steps((0, 0.0), (1, 0.0), num_tokens=2)]

    def got(**settings: Any) -> Any:
        return token_advantages([group], Config(**settings))[0][0]

    assert got() == pytest.approx((2.0, 1.0), rel=1e-5)
    assert got(advantage_scale="none") == pytest.approx((1.0, 0.5))
    assert got(advantage_clip=1.5) == pytest.approx((1.5, 1.0), rel=1e-5)
    assert got(leave_one_out=True) == got()
    assert got(min_group_std=0.6) is None


def test_the_sums_are_clipped_and_not_the_steps() -> None:
    group = [steps((0, 1.0), (1, 0.0), num_tokens=2), steps((0, 0.0), (1, 0.0), num_tokens=2)]
    got = token_advantages([group], Config(advantage_clip=1.5))[0][0]
    assert got == pytest.approx((2 / 3**0.5, -1 / 3**0.5), rel=1e-5)  # of steps 3 and -1 / sqrt(3)


def test_what_the_trainer_adds_counts_for_every_token_and_makes_no_group_teach() -> None:
    config = Config(advantage_scale="none")
    spread = [
        steps((0, 1.0), (1, 1.0), num_tokens=2, added=-0.4),
        steps((0, 1.0), (1, 0.0), num_tokens=2),
    ]
    mean = (1.0 + 0.6 + 1.0 + 0.0) / 4
    got = token_advantages([spread], config)[0]
    assert got[0] == pytest.approx([1.6 - 2 * mean, 0.6 - mean])
    equal = [steps((0, 1.0), num_tokens=2, added=-0.4), steps((0, 1.0), num_tokens=2)]
    assert token_advantages([equal], config) == [[None, None]]


# From characters to tokens


def test_a_step_ends_at_the_token_that_completes_it(tokenizer: PreTrainedTokenizerFast) -> None:
    text = "1+1=2\n2+2=4\n"
    ids = [*tokenizer.encode(text, add_special_tokens=False), EOS]
    assert end_tokens(ids, [5, 11, 12], tokenizer) == (4, 10, 11)


def test_a_character_of_several_tokens_is_complete_at_its_last(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    ids = tokenizer.encode("a😀é.", add_special_tokens=False)
    assert len(ids) == 8
    assert end_tokens(ids, [1, 2, 3, 4], tokenizer) == (0, 4, 6, 7)


def test_special_tokens_have_no_text(tokenizer: PreTrainedTokenizerFast) -> None:
    a, b = tokenizer.encode("ab", add_special_tokens=False)
    assert end_tokens([EOS, a, EOS, b, EOS], [1, 2], tokenizer) == (1, 3)


def test_offsets_outside_the_text_belong_to_its_first_and_last_token(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    ids = tokenizer.encode("abc", add_special_tokens=False)
    assert end_tokens(ids, [0, 99], tokenizer) == (0, 2)


def test_a_completion_that_breaks_off_inside_a_character_has_an_end(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    ids = tokenizer.encode("a😀", add_special_tokens=False)[:3]
    text = str(tokenizer.decode(ids))
    assert end_tokens(ids, [len(text)], tokenizer) == (2,)


@pytest.mark.parametrize("seed", range(5))
def test_windows_find_what_decoding_every_prefix_finds(
    tokenizer: PreTrainedTokenizerFast, seed: int
) -> None:
    rng = random.Random(seed)
    text = "".join(rng.choice("ab \n=é😀ก�") for _ in range(3 * STRIDE))
    ids = tokenizer.encode(text, add_special_tokens=False)
    for _ in range(5):
        ids.insert(rng.randrange(len(ids)), EOS if seed % 2 else rng.randrange(256))
    offsets = sorted(rng.randrange(len(text)) for _ in range(20))
    expected = tuple(by_prefixes(tokenizer, ids, offset) for offset in offsets)
    assert end_tokens(ids, offsets, tokenizer) == expected


@pytest.mark.parametrize("seed", range(5))
def test_windows_bear_a_decoder_that_drops_the_first_space(
    spaced: PreTrainedTokenizerFast, seed: int
) -> None:
    rng = random.Random(seed)
    ids = [rng.randrange(len(spaced)) for _ in range(5 * STRIDE)]
    text = sample_of(spaced, ids).text
    offsets = sorted(rng.randrange(1, len(text)) for _ in range(20))
    expected = tuple(by_prefixes(spaced, ids, offset) for offset in offsets)
    assert end_tokens(ids, offsets, spaced) == expected


def test_decoding_is_linear_in_the_length(tokenizer: PreTrainedTokenizerFast) -> None:
    decoded = []

    class Counting:
        def decode(self, ids: list[int], **options: Any) -> str:
            decoded.append(len(ids))
            return str(tokenizer.decode(ids, **options))

    def work(length: int) -> int:
        decoded.clear()
        end_tokens(tokenizer.encode("x" * length), range(0, length, 50), Counting())  # type: ignore[arg-type]
        return sum(decoded)

    assert work(4000) < 2.2 * work(2000)


def test_the_steps_of_a_score_are_found_in_the_sampled_ids(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    sample = sample_of(tokenizer, [*tokenizer.encode("1+1=2\n2+2=5\n"), EOS])
    score = Score.fraction(0.5).replace(steps=((11, 0.0), (5, 1.0)))
    assert step_rewards(sample, score, 0.3, tokenizer) == StepRewards(
        ends=(4, 10), values=(1.0, 0.0), rewards=(1.0, 0.3 - 0.5), num_tokens=13
    )


def test_a_judged_completion_without_steps_is_one_step(tokenizer: PreTrainedTokenizerFast) -> None:
    sample = sample_of(tokenizer, [*tokenizer.encode("hm"), EOS])
    assert step_rewards(sample, Score.malformed("no steps"), -0.1, tokenizer) == StepRewards(
        ends=(2,), values=(0.0,), rewards=(-0.1,), num_tokens=3
    )


def test_verl_6675_an_empty_completion_takes_part_without_a_token(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    empty = step_rewards(sample_of(tokenizer, []), Score.malformed("empty"), 0.0, tokenizer)
    got = token_advantages([[empty, steps((0, 1.0), num_tokens=1)]], Config(advantage_eps=1e-9))
    assert got[0][0] == ()
    assert got[0][1] == pytest.approx((1.0,))
