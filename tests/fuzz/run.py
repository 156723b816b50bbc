"""A long run: `python tests/fuzz/run.py --minutes 2` tries each kind of input so long and prints figures."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))

from fuzz.cases import CASES
from fuzz.watch import BAD, watch

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.0, help="for each kind of input")
    parser.add_argument("--only", choices=list(CASES), help="one kind of input")
    options = parser.parse_args()
    for name in [options.only] if options.only else CASES:
        tally = watch(CASES[name], 10**9, 60 * options.minutes)
        kinds = ", ".join(f"{tally.counts[kind]} {kind}" for kind in ("accepted", "refused", *BAD))
        print(f"{name}: {tally.tried} tried, {kinds}", flush=True)
        for finding in tally.findings[:20]:
            print(f"  case {finding[:1500]}")
