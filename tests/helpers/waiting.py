"""Waiting for what other threads do: until it holds, with a limit that a busy machine keeps."""

import time


def wait_until(condition, what="what was expected", seconds=120):
    """Look again and again until `condition()` holds; fails the test if it never does."""
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, f"waited {seconds} s in vain for {what}"
        time.sleep(0.01)
