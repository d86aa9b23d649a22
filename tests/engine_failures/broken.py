"""Model folders that are broken in one way each: copies of a good one with the fault put in."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

_HEADER: Final = 8
"""Bytes of a safetensors file that tell the length of its JSON header."""
_VECTOR: Final = "model.layers.0.input_layernorm.weight"
_MATRIX: Final = "model.layers.0.self_attn.k_proj.weight"


def _config(folder: Path, **changes: Any) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def _cut(file: Path, keep: float) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * keep)])


def _header(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change what the weights file says of its tensors; their bytes stay where they are."""
    file = folder / "model.safetensors"
    data = file.read_bytes()
    size = int.from_bytes(data[:_HEADER], "little")
    header = json.loads(data[_HEADER : _HEADER + size])
    change(header)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file.write_bytes(len(text).to_bytes(_HEADER, "little") + text + data[_HEADER + size :])


def _without_a_tensor(folder: Path) -> None:
    """The others move up: the format wants every byte to belong to a tensor."""
    file = folder / "model.safetensors"
    data = file.read_bytes()
    size = int.from_bytes(data[:_HEADER], "little")
    header, rest = json.loads(data[_HEADER : _HEADER + size]), data[_HEADER + size :]
    first, last = header.pop(_MATRIX)["data_offsets"]
    for name, tensor in header.items():
        if name != "__metadata__" and tensor["data_offsets"][0] >= last:
            tensor["data_offsets"] = [offset - (last - first) for offset in tensor["data_offsets"]]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file.write_bytes(len(text).to_bytes(_HEADER, "little") + text + rest[:first] + rest[last:])


def _folded(header: dict[str, Any]) -> None:
    rows, columns = header[_MATRIX]["shape"]
    header[_MATRIX]["shape"] = [rows // 2, columns * 2]


def _nan(folder: Path) -> None:
    """One whole vector of the first layer: every answer depends on it."""

    def keep(header: dict[str, Any]) -> None:
        place.extend(header[_VECTOR]["data_offsets"])

    place: list[int] = []
    _header(folder, keep)
    file = folder / "model.safetensors"
    data = bytearray(file.read_bytes())
    start = _HEADER + int.from_bytes(data[:_HEADER], "little")
    first, last = (start + offset for offset in place)
    data[first:last] = b"\xff\x7f" * ((last - first) // 2)
    file.write_bytes(data)


def _awq(folder: Path) -> None:
    quantization = {"quant_method": "awq", "bits": 4, "group_size": 32, "zero_point": True}
    _config(folder, quantization_config=quantization)


def _awq_with_scales(folder: Path) -> None:
    """As far as headers tell a model that is quantized so."""
    _awq(folder)
    _header(folder, lambda header: header.update({f"{_MATRIX.removesuffix('weight')}scales": header.pop(_VECTOR)}))


def _own_code(folder: Path) -> None:
    _config(folder, model_type="own", architectures=["OwnForCausalLM"], auto_map={"AutoConfig": "own.OwnConfig"})
    (folder / "own.py").write_text("raise SystemExit('code of the model was run')\n")


def _template(text: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / "chat_template.jinja").write_text(text)

    return write


BREAK: Final[Mapping[str, Callable[[Path], None]]] = {
    "arch-missing": lambda folder: _config(folder, architectures=None, model_type="frobnicator"),
    "arch-unknown": lambda folder: _config(folder, architectures=["FrobnicatorForCausalLM"]),
    "autocode": _own_code,
    "bad-template": _template("{% for m in messages %}{{ m.content }}{% endfr %}"),
    "raise-template": _template("{{ messages[0].nope.nope }}"),
    "no-template": lambda folder: (folder / "chat_template.jinja").unlink(),
    "config-missing": lambda folder: (folder / "config.json").unlink(),
    "hd16": lambda folder: _config(folder, head_dim=16, num_attention_heads=4, num_key_value_heads=4),
    "missing-tensor": _without_a_tensor,
    "nan": _nan,
    "no-weights": lambda folder: (folder / "model.safetensors").unlink(),
    "awq": _awq_with_scales,
    "q-awq": _awq,
    "q-fp8": lambda folder: _config(
        folder, quantization_config={"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3"}
    ),
    "q-unknown": lambda folder: _config(folder, quantization_config={"quant_method": "turboquant9"}),
    "tok-broken": lambda folder: _cut(folder / "tokenizer.json", 0.3),
    "trunc": lambda folder: _cut(folder / "model.safetensors", 0.5),
    "wrong-shape": lambda folder: _header(folder, _folded),
}
"""Name → what is done to a copy of a good folder."""


def broken(name: str, good: Path, parent: Path) -> Path:
    """A copy of the folder `good`, broken as `name` says. Raises KeyError for an unknown name."""
    folder = parent / "model"
    shutil.copytree(good, folder)
    BREAK[name](folder)
    return folder
