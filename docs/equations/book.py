"""Siciliano, Sciavicco, Villani, Oriolo, chapter 7: the table. `tables.py` lists the modules that fill it."""

from equations import Table

BOOK = Table(
    "The book, chapter 7",
    "B. Siciliano, L. Sciavicco, L. Villani, G. Oriolo, *Robotics: Modelling, Planning and Control*,"
    " Springer 2009. Results without a number are there by their section.",
)
