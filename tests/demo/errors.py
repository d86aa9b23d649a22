"""What goes wrong in the demo, in words for the person who watches it."""


class DemoError(Exception):
    """A step that did not do what it promises; the message says which and what was seen instead."""
