"""One family (or variant) of the golden files, as data."""

import dataclasses
import typing


def same(name):
    return name


@dataclasses.dataclass
class Family:
    config: str  # class of the configuration in Transformers, without "Config"
    fields: dict  # what config.json says, spelled as Transformers 5 does
    hub: typing.Callable = None  # config.json (a dict) -> the file as it is on the hub; None: not another one
    hub_misread: str = ""  # why Transformers' own reading of that file is not compared
    hub_differs: tuple = ()  # fields that Transformers reads otherwise from that file, without another result
    loader: str = "AutoModelForCausalLM"
    hub_names: typing.Callable = same  # name of a tensor in memory -> its name on the hub
    hub_tensors: typing.Callable = None  # all tensors by name in memory -> as they are on the hub, where more than names differs
    reshape: typing.Callable = None  # changes the model before it is filled, where Transformers has no class of the family
    saved: bool = False  # Transformers names and splits the tensors for the hub itself when it saves: those of experts are one in memory
    margin: float = 0.0  # of routers: how far the last chosen expert is from the next, for every token; other weights are drawn until it holds
    quantization: dict = None  # quantization_config of both files
    remote_config: typing.Callable = None  # config.json of such a family, from the one of the class that stood in
    plus_one: str = ""  # regular expression of the norms whose weights are stored less one; GGUF holds them with the one
    gguf_plus: dict = dataclasses.field(default_factory=dict)  # regular expression of norms -> what GGUF adds to them instead of one
    gguf_absent: str = ""  # regular expression of the tensors that GGUF holds as keys, or not at all
    spread: list = dataclasses.field(default_factory=list)  # (regular expression of names, centre, spread), first match counts
    gguf: str = ""  # why there is no model.gguf; empty: there is one
    gguf_made: str = ""  # regular expression of the tensors that the converter invents
    gguf_prepare: typing.Callable = None  # what the converter is given instead of the tensors by name, where it fails on the hub's
    gguf_patch: typing.Callable = None  # changes the converter's object, where it fails
    gguf_from: str = "hub"  # the spelling that llama.cpp's converter reads: "hub" or "5"
    gguf_fields: dict = dataclasses.field(default_factory=dict)  # what the converter must be told besides
    inert: dict = dataclasses.field(default_factory=dict)  # field or tensor that moves nothing -> why
    more: dict = dataclasses.field(default_factory=dict)  # further changes of the configuration that must show: label -> {field: value}
    attention: str = "eager"  # of Transformers
    tokens: int = 40
    short_tokens: int = 0  # a second prompt: expected_short.*
    finish: typing.Callable = None  # changes the tensors (name in memory -> tensor) after they are drawn
    ignored: str = ""  # regular expression of names on the hub that text alone does not need; two of them are kept
