"""All tables, in the order of the page."""

from equations import arms, lagrange, properties, recursion, uses
from equations.asada import ASADA
from equations.asadi import ASADI
from equations.book import BOOK
from equations.deluca import DELUCA
from equations.gears import GEARS

FILLED = (lagrange, properties, arms, recursion, uses)  # in this order they fill the table of the book
TABLES = {"book": BOOK, "gears": GEARS, "asada": ASADA, "asadi": ASADI, "deluca": DELUCA}
