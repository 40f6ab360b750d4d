"""Live one seed's life again and tell everything: python -m tests.simulation.run --seed 17."""

import argparse
import sys
from contextlib import ExitStack

from tests.simulation.life import live
from tests.simulation.mutants import MUTANTS
from tests.simulation.plan import harsh, harsh_in_disorder

KINDS = {"as drawn": lambda plan: plan, "harsh": harsh, "harsh in disorder": harsh_in_disorder}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=1, help="live this many seeds from there on")
    parser.add_argument("--mutant", choices=sorted(MUTANTS), help="break the driver on purpose")
    parser.add_argument("--kind", choices=sorted(KINDS), default="as drawn")
    options = parser.parse_args()
    failed = 0
    with ExitStack() as stack:
        if options.mutant:
            stack.enter_context(MUTANTS[options.mutant]())
        for seed in range(options.seed, options.seed + options.count):
            life = live(seed, KINDS[options.kind])
            failed += bool(life.promises.broken)
            if options.count == 1:
                sys.stdout.write("\n".join(life.faults.trace) + "\n")
            for line in life.promises.broken:
                sys.stdout.write(f"seed {seed}: BROKEN: {line}\n")
    sys.stdout.write(f"{options.count} seeds, {failed} broken\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
