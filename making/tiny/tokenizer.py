"""The tiny model's tokenizer: whole words and symbols of the bundled tasks, bytes for the rest.

Byte-level BPE as in GPT-2 and Llama 3, so any text round-trips, trained until every word of the
corpus is one token. Digits stay single: numbers are then spelled the same way everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

PAD, START, END = "<|pad|>", "<|im_start|>", "<|im_end|>"

# A newline with its indent, a tag, a digit, a word, a run of symbols: each with its space before.
PATTERN = r"\n *| ?</?[a-z]+>|[0-9]| ?[\p{L}_]+| ?[^\s\p{L}0-9_<]+| ?<|\s"

MAX_VOCABULARY = 1024

ROLES = ["system\n", "user\n", "assistant\n"]

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def build_tokenizer(texts: Iterable[str], max_length: int) -> PreTrainedTokenizerFast:
    """Train the tokenizer on the texts it shall be short on.

    Args:
        texts: The corpus. The same corpus gives the same tokenizer.
        max_length: The model's context in tokens.
    """
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERN), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=MAX_VOCABULARY,
        min_frequency=2,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=[PAD, START, END],
        show_progress=False,
    )
    # The words of the chat template are tokens too; twice, to pass the minimum frequency.
    core.train_from_iterator([*texts, *2 * ROLES], trainer)
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=core,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=[START],
        chat_template=CHAT_TEMPLATE,
        model_max_length=max_length,
        # The default would drop the space before "," on decoding, and text would not round-trip.
        clean_up_tokenization_spaces=False,
    )
