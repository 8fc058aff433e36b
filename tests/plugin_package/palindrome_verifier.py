"""Is the answer a palindrome of at least so many letters?"""

from typing import Literal

import rewards


class PalindromeSpec(rewards.Spec):
    type: Literal["palindrome"] = "palindrome"
    min_letters: int = 3


@rewards.verifier(name="palindrome", spec=PalindromeSpec)
def palindrome(completion: rewards.Completion, spec: PalindromeSpec) -> rewards.Score:
    letters = [c.lower() for c in completion.answer_text if c.isalpha()]
    if len(letters) < spec.min_letters:
        return rewards.Score.malformed(f"{len(letters)} letters, fewer than {spec.min_letters}")
    return rewards.Score.fraction(float(letters == letters[::-1]), "read backwards", n=len(letters))
