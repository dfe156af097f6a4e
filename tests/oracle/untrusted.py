"""What untrusted text must give: no special token is looked for in it, and none comes out of it.

The oracle's own encode_special_tokens does the first only: its models still find special tokens in their vocabularies, and merge to them
where a trainer saw them in its text. A token of one symbol is the only one its text has, so it stays.
"""

import json

from tokenizers import Tokenizer, models

FALLBACK_BYTES = {"<0x%02X>" % b for b in range(256)}


def is_symbol(text, *affixes):
    prefix, suffix = (affix or "" for affix in affixes or ("", ""))
    return 1 in {len(t) for t in (text, text.removeprefix(prefix), text.removesuffix(suffix), text.removeprefix(prefix).removesuffix(suffix))}


def hidden_texts(tree):
    """The special tokens that no text may become."""
    model = tree["model"]
    affixes = (model.get("continuing_subword_prefix"), model.get("end_of_word_suffix"))
    return {t["content"] for t in tree["added_tokens"] if t["special"] and not is_symbol(t["content"], *affixes)}


def twin(tokenizer):
    """The same tokenizer with other names for its special tokens: for models without merges."""
    tree = json.loads(tokenizer.to_str())
    model = tree["model"]
    hidden = hidden_texts(tree)
    if model.get("byte_fallback"):
        hidden -= FALLBACK_BYTES
    names = {text: "\U0010fff0%d" % i for i, text in enumerate(sorted(hidden))}
    for token in tree["added_tokens"]:
        token["content"] = names.get(token["content"], token["content"])
    is_special_byte = {t["content"] for t in tree["added_tokens"] if t["special"]} & FALLBACK_BYTES
    if isinstance(model["vocab"], dict):
        model["vocab"] = {names.get(text, text): i for text, i in model["vocab"].items()}
    else:  # a byte token is for falling back to, but nobody's best piece
        model["vocab"] = [[names.get(text, text), -1e6 if text in is_special_byte else score] for text, score in model["vocab"]]
    if model.get("unk_token"):
        model["unk_token"] = names.get(model["unk_token"], model["unk_token"])
    tree["post_processor"] = None
    other = Tokenizer.from_str(json.dumps(tree))
    other.encode_special_tokens = True
    return other


def spelled_apart(tree):
    """{id of a special token that the model merges to: the ids of its text without it}"""
    model, hidden = tree["model"], hidden_texts(tree)
    merges = [tuple(merge if isinstance(merge, list) else merge.split(" ")) for merge in model["merges"]]
    prefix = model.get("continuing_subword_prefix") or ""
    results = {merge: merge[0] + merge[1].removeprefix(prefix) for merge in merges}
    apart = hidden & (set(model["vocab"]) if model.get("ignore_merges") else set(results.values()))
    assert not (apart & FALLBACK_BYTES and model.get("byte_fallback")), "a byte that falls back cannot be told from one that is spelled"
    assert not (apart and (prefix or model.get("end_of_word_suffix")))
    if not apart:
        return {}
    rest = models.BPE(model["vocab"], [merge for merge in merges if results[merge] not in hidden], unk_token=model.get("unk_token"))
    return {model["vocab"][text]: [token.id for token in rest.tokenize(text)] for text in apart}


class Untrusted:
    def __init__(self, tokenizer):
        tree = json.loads(tokenizer.to_str())
        self.apart = {}
        if tree["model"]["type"] != "BPE":
            self.tokenizer = twin(tokenizer)
            return
        self.apart = spelled_apart(tree)
        self.tokenizer = Tokenizer.from_str(tokenizer.to_str())
        self.tokenizer.encode_special_tokens = True

    def encodings(self, texts, add_special=False):
        """[(ids, the oracle's encoding, or None where it has a special token)]"""
        for encoding in self.tokenizer.encode_batch(texts, add_special_tokens=add_special):
            if self.apart.keys().isdisjoint(encoding.ids):
                yield encoding.ids, encoding
            else:
                yield [part for i in encoding.ids for part in self.apart.get(i, [i])], None

    def ids(self, texts, add_special=False):
        return [ids for ids, _ in self.encodings(texts, add_special)]
