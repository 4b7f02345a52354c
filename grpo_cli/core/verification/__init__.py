"""Logged advantages against recomputed ones, and the search for the formula that made them."""
