"""The system's browser, opened without a word on the terminal."""

from __future__ import annotations

import subprocess
import threading
import webbrowser

_TERMINAL = ("www-browser", "links", "elinks", "lynx", "w3m")


def open_browser(url: str) -> bool:
    """Open a page in a browser with windows; False if there is none.

    Browsers that run in the terminal are left alone: they cannot show the page. What a browser writes on
    its start is dropped.
    """
    try:
        found = webbrowser.get()
    except webbrowser.Error:
        return False
    if getattr(found, "basename", "") in _TERMINAL:
        return False
    if isinstance(found, webbrowser.GenericBrowser):
        return _started([found.name, *(part.replace("%s", url) for part in found.args)])
    try:
        return bool(found.open(url))
    except (OSError, webbrowser.Error):
        return False


def _started(command: list[str]) -> bool:
    nowhere = subprocess.DEVNULL
    try:
        browser = subprocess.Popen(
            command, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True
        )
    except OSError:
        return False
    threading.Thread(target=browser.wait, name="armdyn view: browser", daemon=True).start()
    return True
