"""The shapes that are measured, as in graphs.mjs, and the functions of their nodes. Workers of Dask import it too."""

import time

LAYER_WIDTH = 100
LAYER_EDGES = 3
MASK = 0xFFFFFFFF


def noop(*_):
    return None


def make(fill, seconds):
    """1 MiB."""
    import numpy

    time.sleep(seconds)
    return numpy.full(131072, fill, dtype="f8")


def add(one, other, seconds):
    time.sleep(seconds)
    return float(one[0] + other[0])


def layered(size):
    below = random_below(42)
    needs = []
    for node in range(size):
        layer = node - node % LAYER_WIDTH
        chosen = {}
        while layer > 0 and len(chosen) < LAYER_EDGES:
            chosen[layer - LAYER_WIDTH + below(LAYER_WIDTH)] = True
        needs.append(list(chosen))
    return needs


def tree(size):
    needs = [[] for _ in range((size + 1) >> 1)]
    following = 0
    while following + 1 < len(needs) < size:
        needs.append([following, following + 1])
        following += 2
    return needs


NEEDS = {
    "chain": lambda size: [[] if node == 0 else [node - 1] for node in range(size)],
    "fan-out": lambda size: [[] for _ in range(size)],
    "layered": layered,
    "tree": tree,
}


def random_below(seed):
    """mulberry32, as in graphs.mjs."""
    state = seed & MASK

    def below(limit):
        nonlocal state
        state = (state + 0x6D2B79F5) & MASK
        mixed = ((state ^ (state >> 15)) * (state | 1)) & MASK
        mixed ^= (mixed + ((mixed ^ (mixed >> 7)) * (mixed | 61))) & MASK
        return (mixed ^ (mixed >> 14)) % limit

    return below


def fingerprint(needs):
    total = len(needs)
    for node, of in enumerate(needs):
        for need in of:
            total = (total + (node + 1) * 31 + (need + 1) * 17) & MASK
    return total
