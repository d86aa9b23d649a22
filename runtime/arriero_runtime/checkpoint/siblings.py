"""Tensors that are missing, as far as their siblings tell: a layer has what the other layers of its kind have.

Models may mix kinds of layers, so a layer is suspected only where it alone lacks what its likes have, or where a module
has one half of a pair that never stands alone. Only modules that the engine itself does not miss are looked at.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from arriero_api.numbers import whole

Tree = dict[str, set[str]]
"""Path of a module → the names right below it."""

_LISTS: Final = ("layers", "layer", "h", "blocks", "block", "experts")
"""What holds numbered modules that are alike."""
_NEEDED: Final = frozenset(
    {
        *("q_proj", "k_proj", "v_proj", "o_proj", "qkv_proj", "gate_proj", "up_proj", "down_proj", "gate_up_proj"),
        *("query_key_value", "query", "key", "value", "dense", "dense_h_to_4h", "dense_4h_to_h", "in_proj", "out_proj"),
        *("c_attn", "c_proj", "c_fc", "fc1", "fc2", "wq", "wk", "wv", "wo", "w1", "w2", "w3"),
        *("self_attn", "self_attention", "attention", "attn", "mlp", "feed_forward", "experts", "weight", "bias"),
    }
)
_PAIRS: Final = (
    (("k_proj", "v_proj"), ("q",)),
    (("v_proj",), ("k_proj", "kv")),
    (("gate_proj",), ("up_proj", "dense_h_to_4h")),
    (("up_proj",), ("down_proj",)),
    (("wk", "wv"), ("wq",)),
    (("w1", "w3"), ("w2",)),
    (("key", "value"), ("query",)),
)
"""Where one of the first stands, a module whose name begins with one of the second must stand beside it."""
_COUNTED: Final = ("model.layers", "layers", "transformer.h", "h", "gpt_neox.layers")
_NESTED: Final = ("language_model.model.layers", "model.language_model.layers")
_COUNTS: Final = ("num_hidden_layers", "n_layer", "num_layers")
_KINDS: Final = "layer_types"
"""What each layer is, where a model mixes kinds."""
_SHARED: Final = "num_kv_shared_layers"
"""How many of the last layers have no keys of their own."""
_EMPTY_LAYERS: Final = "block_configs"
"""A model whose layers may be left out one by one."""


def missing(names: Iterable[str], config: Mapping[str, Any], *, head: bool = True) -> list[str]:
    """Tensors or modules that a sound checkpoint would have, in words, sorted by name; empty where none is missed.

    `head`: the model is to write, for which it needs one.
    """
    if _EMPTY_LAYERS in config:
        return []
    tree = _tree(names, params="quantization_config" not in config)
    known = _wanted_layers(config)
    faults = set(_pairs(tree)) | set(_gaps(tree, known)) | set(_lone(tree, known, _kinds(config)))
    faults |= set(_ends(tree, config, head))
    return sorted(faults)


def _tree(names: Iterable[str], *, params: bool) -> Tree:
    """Without the parameters of single modules where quantized ones may differ in them."""
    tree: Tree = defaultdict(set)
    for name in names:
        parts = name.split(".")
        for depth in range(len(parts) - (0 if params else 1)):
            tree[".".join(parts[:depth])].add(parts[depth])
    return dict(tree)


def _wanted_layers(config: Mapping[str, Any]) -> dict[str, int]:
    """List of layers → how many the configuration asks for, where that is beyond doubt."""
    if config.get("is_encoder_decoder"):
        return {}
    text = config.get("text_config")
    found = dict.fromkeys(_COUNTED, _count(config)) | dict.fromkeys(_NESTED, _count(text))
    return {path: count for path, count in found.items() if count}


def _count(config: Any) -> int:
    values = [config.get(key) for key in _COUNTS] if isinstance(config, dict) else []
    return next((value for value in values if isinstance(value, int)), 0)


def _kinds(config: Mapping[str, Any]) -> list[str]:
    """Of the layers of the text, by number; empty where they are all of one."""
    text = config.get("text_config")
    for part in (config, text if isinstance(text, dict) else {}):
        kinds = part.get(_KINDS)
        found = [str(kind) for kind in kinds] if isinstance(kinds, list) else [""] * _count(part)
        shared = part.get(_SHARED)
        if isinstance(shared, int) and 0 < shared < len(found):
            found[-shared:] = [f"{kind} {_SHARED}" for kind in found[-shared:]]
        if len(set(found)) > 1:
            return found
    return []


def _pairs(tree: Tree) -> Iterable[str]:
    for path, below in tree.items():
        for given, needed in _PAIRS:
            if any(one in below for one in given) and not any(one.startswith(needed) for one in below):
                yield f"{path}.{needed[0] if len(needed[0]) > 1 else 'q_proj'}"


def _gaps(tree: Tree, known: Mapping[str, int]) -> Iterable[str]:
    for path, below in tree.items():
        indices = {index for one in below if (index := whole(one)) is not None}
        if path.rpartition(".")[2] not in _LISTS or not indices or not any(_is_deep(tree, path, i) for i in indices):
            continue
        wanted = set(range(max(max(indices) + 1, known.get(path, 0))))
        yield from (f"{path}.{index}" for index in sorted(wanted - indices))


def _is_deep(tree: Tree, path: str, index: int) -> bool:
    """A layer, not one step of a sequence of plain modules, some of which have no weights at all."""
    inside = tree.get(f"{path}.{index}", set())
    return any(tree.get(f"{path}.{index}.{one}") for one in inside if one in _NEEDED)


def _lone(tree: Tree, known: Mapping[str, int], kinds: Sequence[str]) -> Iterable[str]:
    """What exactly one of several alike lacks."""
    alike: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in tree:
        if (pattern := _pattern(path)) != path and not _is_extra(path, known):
            alike[pattern, _kind(path, known, kinds)].append(path)
    for paths in alike.values():
        sets = {path: frozenset(tree[path]) for path in paths}
        counts = Counter(sets.values())
        usual, times = counts.most_common(1)[0]
        for path, own in sets.items():
            if counts[own] == 1 and (times > 1 or len(paths) == 2):
                fuller = usual if times > 1 else frozenset().union(*counts)
                lacks = fuller - own if own < fuller else frozenset()
                yield from (f"{path}.{one}" for one in lacks if one in _NEEDED or one.isdigit())


def _pattern(path: str) -> str:
    """The path with a star for each number in a list of alike modules."""
    parts = path.split(".")
    starred = ["*" if part.isdigit() and at and parts[at - 1] in _LISTS else part for at, part in enumerate(parts)]
    return ".".join(starred)


def _kind(path: str, known: Mapping[str, int], kinds: Sequence[str]) -> str:
    """Of the layer that this is part of; empty where it is none, or they are all of one kind."""
    numbers = (_number(path[len(layers) + 1 :]) for layers in known if path.startswith(f"{layers}."))
    number = next(numbers, -1)
    return kinds[number] if 0 <= number < len(kinds) else ""


def _is_extra(path: str, known: Mapping[str, int]) -> bool:
    """Part of a layer beyond those of the configuration, such as one that guesses ahead."""
    return any(
        path.startswith(f"{layers}.") and _number(path[len(layers) + 1 :]) >= count for layers, count in known.items()
    )


def _number(rest: str) -> int:
    first = rest.partition(".")[0]
    index = whole(first)
    return -1 if index is None else index


def _ends(tree: Tree, config: Mapping[str, Any], head: bool) -> Iterable[str]:
    """The embedding, and the head where it is no part of the embedding."""
    body = tree.get("model", set())
    if "layers" in body and "embed_tokens" not in body and not any("embed" in one for one in body):
        yield "model.embed_tokens"
    heads = any("lm_head" in one or "output" in one for one in tree.get("", set()))
    writes = head and any(str(one).endswith("ForCausalLM") for one in config.get("architectures") or ())
    if writes and "embed_tokens" in body and config.get("tie_word_embeddings") is False and not heads:
        yield "lm_head"
