"""Handling around a command: closed streams, errors in one line, exit codes."""

from __future__ import annotations

import errno
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from io import TextIOWrapper
from typing import Any, TextIO

import typer
from typer.core import TyperCommand

from armdyn.expression import ArmdynError
from armdyn.names import one_line
from armdyn.progress import progress_bar

# Newer releases of typer include click; older ones import it.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


LOG_PANEL = "How logs are read"  # of options that all verbs with logs have
ROBOT_PANEL = "The robot"  # of options that all verbs have


class VerbCommand(TyperCommand):
    """A verb whose errors name its options, and which shows on a terminal what it does if that takes long.

    Messages of the library name an argument as "name: …" at the beginning or as "name=value" later on. A
    verb's parameters have the names of the arguments they are passed to (`q0` for `--from`), so they can be
    replaced.
    """

    def invoke(self, ctx: Any) -> Any:
        options = {x.name: max(x.opts, key=len) for x in self.params if x.param_type_name == "option"}
        token = _OPTIONS.set(options)
        try:
            with progress_bar(str(self.name), None, until_output=True):
                return super().invoke(ctx)
        except ArmdynError as error:
            raise ArmdynError(in_options(str(error))) from None
        finally:
            _OPTIONS.reset(token)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, the verb's own options, and behind them those that all verbs have for a robot."""
        sections: dict[str, list[Any]] = {"Arguments": [], "Options": [], LOG_PANEL: [], ROBOT_PANEL: []}
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is not None:
                is_option = parameter.param_type_name == "option"
                panel = getattr(parameter, "rich_help_panel", None) or "Options"
                sections[panel if is_option else "Arguments"].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


_OPTIONS: ContextVar[dict[str, str] | None] = ContextVar("options", default=None)  # by their arguments
_VALUE = r"\{[^{}]*\}|\[[^\[\]]*\]|'[^']*'|\"[^\"]*\"|[-+\w.…]+|"
_CALL = re.compile(rf"(?:\w+(?:\.\w+)?\(…, )(\w+=(?:{_VALUE}))\)")  # identify(…, consistent=True)
_GIVEN = re.compile(rf"(?<![\w.])(\w+)=({_VALUE})(?=[ ,;.?)]|$)")
_TWICE = re.compile(r"(--[\w-]+ \S+) and \1 take\b")  # Log(…, delay=1) and Log.load(…, delay=1) take it out
_PAIR = re.compile(r"['\"](\w+)['\"]: *(\[[^\]]*\]|[^,]+)")


def in_options(text: str) -> str:
    """A message of the library with the verb's options in the place of arguments."""
    options = _OPTIONS.get() or {}

    def named(found: re.Match[str]) -> str:
        return f"{found[1] or ''}{options[found[2]]}" if found[2] in options else found[0]

    def called(found: re.Match[str]) -> str:
        return found[1] if found[1].partition("=")[0] in options else found[0]

    text = re.sub(r"^(joint \d+: )?(\w+)(?=: )", named, text)
    text = _GIVEN.sub(lambda found: _given(options, *found.groups()) or found[0], _CALL.sub(called, text))
    return _TWICE.sub(r"\1 takes", text)


def _given(options: dict[str, str], name: str, value: str) -> str:
    """What to type for name=value of Python; nothing where the verb has no such option."""
    pairs = _PAIR.findall(value[1:-1]) if value.startswith("{") else []
    if name not in options:
        known = bool(pairs) and all(key in options for key, _ in pairs)
        return " ".join(f"{options[key]} {_typed(x)}" for key, x in pairs) if known else ""
    if pairs:
        return " ".join(f"{options[name]} {key}={_typed(x)}" for key, x in pairs)
    return options[name] if value in ("", "True") else f"{options[name]} {_typed(value)}"


def _typed(value: str) -> str:
    """A value of Python as it is typed in a shell."""
    if value.startswith("["):
        return value[1:-1].replace(" ", "")
    return value[1:-1] if value[:1] in "'\"" and value[1:-1].isalnum() else value.replace("'", '"')


def run(app: typer.Typer, arguments: Sequence[str]) -> int:
    """Run a verb and return the exit code. A wrong input is one line on stderr, not a traceback."""
    _open_streams()
    try:
        try:
            return _invoke(app, list(arguments))
        finally:
            sys.stdout.flush()  # here, where an error is still caught
    except ArmdynError as error:
        return _complain(str(error))
    except _UsageError as error:
        return _explain(error)
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        _print_no_more(sys.stdout)
        return 0
    except OSError as error:  # stdout is a file on a full disk, say
        _print_no_more(sys.stdout)
        if sys.platform == "win32" and error.errno == errno.EINVAL:  # a closed pipe, there
            return 0
        return _complain(str(error))
    except UnicodeError as error:  # stdin is no text in its encoding, say
        return _complain(f"a text that is read or written has other characters than it may have: {error}")
    except MemoryError:
        return _complain("there is not enough memory for this")
    except (KeyboardInterrupt, typer.Abort):
        return 130


def _invoke(app: typer.Typer, arguments: list[str]) -> int:
    command = typer.main.get_command(app)
    try:
        with _one_line_warnings(), command.make_context("armdyn", arguments) as context:
            command.invoke(context)
    except typer.Exit as stop:
        return stop.exit_code
    return 0


def _open_streams() -> None:
    """Open closed streams on the null device; otherwise the next file opened would take their place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # "?" for what the terminal lacks, such as ²


@contextmanager
def _one_line_warnings() -> Iterator[None]:
    """Show each warning as one line, without file name and line number."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        tell(f"warning: {in_options(str(message))}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _complain(text: str) -> int:
    tell(f"error: {text}")
    return 2


def tell(text: str) -> None:
    """One line on stderr, if it can be written to."""
    try:
        print(one_line(text), file=sys.stderr, flush=True)
    except OSError:
        _print_no_more(sys.stderr)


def _print_no_more(stream: TextIO) -> None:
    """Send the rest of the buffer to the null device, so that it does not fail again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _explain(error: Any) -> int:
    """Say what is wrong with the command line and how to see its options; without a verb, list the verbs."""
    context, text = error.ctx, error.format_message()
    if context is None:
        return _complain(text.rstrip("."))
    if text == context.get_help():
        print(text, file=sys.stderr)
        return 2
    parameter = getattr(error, "param", None)
    if parameter is not None and error.message:
        text = f"{max(parameter.opts, key=len)}: {error.message.removeprefix('Value error, ')}"
    return _complain(f"{text.rstrip('.')}; see {context.command_path} --help")
