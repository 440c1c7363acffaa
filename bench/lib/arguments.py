"""Types of options: what argparse turns a text into, or refuses with a reason."""

import argparse


def at_least(low, kind=int):
    def read(text):
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not value >= low:
            what = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"takes {what}, at least {low}, not {text}")
        return value

    return read
