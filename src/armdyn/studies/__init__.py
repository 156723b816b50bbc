"""Designs compared and chosen: tables of cases run, drives sized, symbols optimised."""
