"""How the page looks: viser's theme with what the workbench leaves out."""

from __future__ import annotations

from typing import Any


def set_theme(gui: Any, dark: bool = False) -> None:
    """Light or dark; without viser's logo and without a button that would share the page."""
    gui.configure_theme(dark_mode=dark, show_share_button=False, show_logo=False)
