"""Reads answers, a line each, and prints what an explanation adds to each. Probabilities are left out:
they are numerical, and differ in the last digits from machine to machine."""

import json
import sys


def main():
    for line in sys.stdin:
        answer = json.loads(line)
        print(json.dumps([answer.get(key) for key in ("eligible", "exploration_key", "considered")],
                         sort_keys=True))


if __name__ == "__main__":
    main()
