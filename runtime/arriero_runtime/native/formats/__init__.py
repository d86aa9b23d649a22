"""Llama Stack's own prompts for Llama models (`chatFormat: LlamaStack`), in place of the model's chat template.

A chat becomes token ids, so text can never become a control token; the answer is read by parsers of our own. The frame
of a message is the one that the models were trained on; the words that describe tools are ours.
"""
