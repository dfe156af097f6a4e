"""What mechanics can check of a line of help, of an API's field or of a metric: whether it can be understood alone."""
import re

# Beginnings that only a neighbouring line explains, and private words for what the field has a word for.
FRAGMENT = re.compile(r"(Of|Beyond|For it|And|Or|Instead|Within)\b")
PRIVATE = re.compile(
    r"\b(guess\w*|nobody|somebody|everybody|whoever|told apart|most_\w*|answers?|drawn?|draws|likeliest|likewise)\b", re.IGNORECASE
)
MAX_WORDS = 30  # of a sentence, or of an entry of a list


def flaws(description):
    sentences = re.split(r"[.;] ", description)
    checks = {
        "fewer than two words": len(description.split()) < 2,
        "begins with neither a capital letter nor a digit nor a flag": re.match(r"[A-Z0-9]|--", description) is None,
        "begins with what its neighbours must explain": FRAGMENT.match(description) is not None,
        "has a private word": PRIVATE.search(description) is not None,
        f"has a sentence of more than {MAX_WORDS} words": any(len(sentence.split()) > MAX_WORDS for sentence in sentences),
    }
    return [what for what, wrong in checks.items() if wrong]
