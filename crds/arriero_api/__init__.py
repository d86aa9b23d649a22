"""The contract of Arriero: what users, the operator and the runtime agree on.

Modules are imported by name. Those without pydantic, which the runtime's supervisor may import: `contract`, `labels`,
`pod`, `reasons`, `owned_flags`, `uris`. Those with pydantic: `types`, `generate` and what they use.
"""
