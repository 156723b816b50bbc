"""The one family of errors the package raises about what it was given."""


class ArmdynError(ValueError):
    """Something given to armdyn is wrong; the message says what, where, and what is allowed."""


class ExpressionError(ArmdynError):
    """A text that should be a number or an expression is not one."""


class MissingValueError(ArmdynError):
    """A number is needed, but a symbol in it has no value."""
