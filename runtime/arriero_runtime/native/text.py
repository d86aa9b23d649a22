"""JSON as it goes over the wire. One encoder for all: making one per event costs more than using it."""

import json
from typing import Final

to_json: Final = json.JSONEncoder(ensure_ascii=False).encode
