"""Writes corpus/family_config and family.dict: the configurations of the golden files of all families, in both spellings and of GGUF. Needs gguf."""

import json
import pathlib
import re
import shutil

import gguf

HERE = pathlib.Path(__file__).parent
CORPUS = HERE / "corpus/family_config"
GOLDEN = HERE.parent / "golden/families"


def metadata(path):
    fields = gguf.GGUFReader(path).fields
    wanted = {key: field.contents() for key, field in fields.items() if not key.startswith(("GGUF.", "tokenizer.", "general."))}
    architecture = fields["general.architecture"].contents()
    return {"general.architecture": architecture, f"{architecture}.vocab_size": 47} | wanted


def main():
    shutil.rmtree(CORPUS, ignore_errors=True)
    CORPUS.mkdir(parents=True)
    for folder in sorted(GOLDEN.iterdir()):
        for name in ("config.json", "config.hub.json"):
            if (folder / name).exists():
                text = json.dumps(json.loads((folder / name).read_text()), separators=(",", ":"))
                (CORPUS / f"{folder.name}.{'hub' if 'hub' in name else 'hf'}.json").write_text(text)
        if (folder / "model.gguf").exists():
            (CORPUS / f"{folder.name}.gguf.json").write_text(json.dumps(metadata(folder / "model.gguf"), separators=(",", ":")))
    words = {word for path in CORPUS.iterdir() for word in re.findall(r'"[\w.:-]+"', path.read_text())}
    (HERE / "family.dict").write_text("".join('"' + word.replace('"', '\\"') + '"\n' for word in sorted(words)))


if __name__ == "__main__":
    main()
