"""Make the maths font of the reports: python docs/maths_font.py STIXTwoMath.ttf

The font is STIX Two Math 2.12 (source/STIXTwoMath.input.ttf of https://github.com/stipub/stixfonts, commit
bea1dc9), under the SIL Open Font License 1.1 (src/armdyn/report/fonts/OFL.txt). Only the letters, signs and
tables that the equations of armdyn need are kept, and the result has another name. This needs fontTools and
brotli (`pip install fonttools brotli`); nobody else does.
"""

import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

TARGET = Path(__file__).resolve().parents[1] / "src" / "armdyn" / "report" / "fonts" / "maths.woff2"
SIGNS = "()[]{}|‖+-−=·.,/<>≤≥∂∑√±×′ℓℎ^_¯˙¨ˆ˜ \N{NO-BREAK SPACE}"
INVISIBLE = (0x2061, 0x2062, 0x2063)  # application, times, comma
COMBINING = (0x302, 0x304, 0x307, 0x308)
RANGES = (
    range(0x30, 0x3A),  # digits
    range(0x41, 0x5B),
    range(0x61, 0x7B),
    range(0x391, 0x3CA),  # Greek
    (0x3D1, 0x3D5, 0x3D6, 0x3F1, 0x3F5),  # its variants
    range(0x1D434, 0x1D468),  # Latin italics of mathematics
    range(0x1D6E2, 0x1D71C),  # Greek italics
)
NAME = "Armdyn Maths"


def main(source: str) -> None:
    font = TTFont(source, recalcTimestamp=False)
    options = subset.Options(layout_features=[], hinting=False, glyph_names=False)
    options.name_IDs = [0, 1, 4, 6, 13, 14]  # with the copyright and the licence
    options.flavor = "woff2"
    wanted = {*map(ord, SIGNS), *INVISIBLE, *COMBINING, *(code for codes in RANGES for code in codes)}
    tool = subset.Subsetter(options)
    tool.populate(unicodes=wanted)
    tool.subset(font)
    for entry in font["name"].names:
        if entry.nameID in (1, 4, 6):
            entry.string = NAME.replace(" ", "") if entry.nameID == 6 else NAME
    TARGET.parent.mkdir(exist_ok=True)
    subset.save_font(font, TARGET, options)
    print(f"{TARGET.name}: {TARGET.stat().st_size} bytes, {len(font.getGlyphOrder())} glyphs")


if __name__ == "__main__":
    main(*sys.argv[1:])
