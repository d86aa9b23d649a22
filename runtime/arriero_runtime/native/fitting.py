"""Whether a loaded model can be asked in the way that the resource wants."""

import datetime

from arriero_api.contract import Phase
from arriero_runtime.engine.protocol import Engine
from arriero_runtime.failing import start_error
from arriero_runtime.native.formats import llama


async def chat_of(engine: Engine, chat_format: str, repository: str) -> llama.LlamaChat | None:
    """Llama Stack's prompts for this model; None where chats use its own template.

    Raises StartError (InvalidArguments) where they do not fit it.
    """
    if chat_format != llama.NAME:
        return None
    try:
        return llama.LlamaChat(await engine.tokens(), repository, _today)
    except llama.Unfit as error:
        words = f"spec.engine.chatFormat: {llama.NAME} does not fit: {error}. Use {llama.TEMPLATE}."
        raise start_error("InvalidArguments", words, Phase.LOADING) from error


def _today() -> datetime.date:
    return datetime.datetime.now(datetime.UTC).date()
