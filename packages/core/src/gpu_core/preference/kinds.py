"""GPUs that are alike, and the sets that can be made of them.

Two GPUs are alike when every other GPU is equally far from both. Which one of them is in a set then makes no
difference to any score, so it is enough to count how many of each kind a set takes. A node of sixteen GPUs in pairs has
8 kinds and 6,561 such counts where it has 65,536 sets of GPUs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Scores = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """GPUs that are alike, by position in ascending order.

    `size` is how many GPUs one member stands for: GPUs that have to stay together are one member of a kind of their
    own, at `members[0]`, and `together` lists them all.
    """

    members: tuple[int, ...]
    together: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """How many GPUs come with one member."""
        return len(self.together) or 1

    def taken(self, start: int, count: int) -> tuple[int, ...]:
        """Return the positions that come with the members from `start` on."""
        return self.together if self.together and count else self.members[start : start + count]


def kinds_of(scores: Scores, together: Sequence[int]) -> tuple[Kind, ...]:
    """Group all positions into kinds, ordered by first member; those in `together` become one member."""
    bound = frozenset(together)
    groups: list[list[int]] = []
    for position in range(len(scores)):
        if position in bound:
            continue
        group = next((group for group in groups if _alike(scores, group[0], position)), None)
        if group is None:
            groups.append([position])
        else:
            group.append(position)
    kinds = [Kind(members=tuple(group)) for group in groups]
    if bound:
        kinds.append(Kind(members=(min(bound),), together=tuple(sorted(bound))))
    return tuple(sorted(kinds, key=lambda kind: kind.members))


def _alike(scores: Scores, one: int, other: int) -> bool:
    # With the score between the two on both diagonals, equal rows say that all others are equally far.
    between = scores[one][other]
    return _row(scores[one], one, between) == _row(scores[other], other, between)


def _row(row: Sequence[int], position: int, diagonal: int) -> list[int]:
    return [*row[:position], diagonal, *row[position + 1 :]]


@dataclass(frozen=True, slots=True)
class Packing:
    """Counts by kind, packed into one integer of equal fields, so that sets are subtracted and compared at once.

    The top bit of each field stays free: it absorbs the borrow when more is taken than there is.
    """

    width: int
    kinds: int

    @property
    def bits(self) -> int:
        """How many bits all fields take. A set is one integer: its worth, shifted by this, plus its counts."""
        return self.width * self.kinds

    @property
    def guards(self) -> int:
        """The free bit of every field."""
        return sum(1 << (self.width * kind + self.width - 1) for kind in range(self.kinds))

    def packed(self, counts: Sequence[int]) -> int:
        """Return counts as one integer."""
        return sum(count << (self.width * kind) for kind, count in enumerate(counts))

    def count(self, packed: int, kind: int) -> int:
        """Return how many of one kind a packed integer holds."""
        return packed >> (self.width * kind) & ((1 << self.width) - 1)

    def first(self, packed: int) -> int:
        """Return the first kind of which a packed integer holds any."""
        return ((packed & -packed).bit_length() - 1) // self.width


def number_of_sets(kinds: Sequence[Kind], size: int) -> int:
    """Return in how many ways `size` GPUs can be taken; GPUs of one kind count as one."""
    ways = [1] + [0] * size
    for kind in kinds:
        amounts = [count * kind.size for count in range(len(kind.members) + 1)]
        ways = [sum(ways[total - amount] for amount in amounts if amount <= total) for total in range(size + 1)]
    return ways[size]


def sets_of(
    kinds: Sequence[Kind], scores: Scores, size: int, packing: Packing, hopes: Sequence[int]
) -> list[list[int]]:
    """Return every way to take `size` > 0 GPUs, by the first kind that is in it, as one integer each (see Packing).

    Its worth is twice the sum of its pair scores less its members' `hopes`, of which there is one for each kind. All or
    none of the GPUs that stay together are taken.

    A partial way is an integer, too: between worth and counts it has a field for each kind, the gain that a member of
    that kind would bring. The kinds are gone through from the last to the first, so that a way is whole when its first
    kind has joined it; until then it is made once, and every kind before may join it.
    """
    width = (2 * sum(map(sum, scores))).bit_length()
    bits = packing.bits
    field, counts, whole = (1 << width) - 1, (1 << bits) - 1, bits + width * len(kinds)
    partial: list[list[int]] = [[] for _ in range(size)]
    partial[0].append(0)
    ways: list[list[int]] = []
    before = sum(len(kind.members) * kind.size for kind in kinds)
    for number, kind in reversed(tuple(enumerate(kinds))):
        before -= len(kind.members) * kind.size
        shift = bits + width * number
        gains = sum(2 * _between(kind, other, scores) << (width * n) for n, other in enumerate(kinds[:number]))
        within = 2 * _within(kind, scores)
        whole_ways: list[int] = []
        grown = []
        for count in range(1, len(kind.members) + 1):
            pairs = 1 if kind.together else count * (count - 1) // 2
            fixed = ((pairs * within - count * hopes[number]) << whole) + (count << packing.width * number)
            joined = fixed + (count * gains << bits)
            more = count * kind.size
            # Ways of fewer GPUs than these could not become whole any more.
            for taken in range(max(0, size - before - more), size - more):
                ways_on = [way + joined + ((way >> shift & field) * count << whole) for way in partial[taken]]
                grown.append((taken + more, ways_on))
            if more <= size:
                whole_ways += [
                    ((way + fixed >> whole) + (way >> shift & field) * count << bits) + (way + fixed & counts)
                    for way in partial[size - more]
                ]
        # Only now, so that no way is joined twice by one kind.
        for taken, ways_on in grown:
            partial[taken] += ways_on
        ways.append(whole_ways)
    return ways[::-1]


def _within(kind: Kind, scores: Scores) -> int:
    """Return the score between two members, or of all pairs among GPUs that stay together."""
    if kind.together:
        return sum(scores[a][b] for a in kind.together for b in kind.together if a < b)
    return scores[kind.members[0]][kind.members[1]] if len(kind.members) > 1 else 0


def _between(one: Kind, other: Kind, scores: Scores) -> int:
    """Return the score between a member of one kind and a member of another."""
    return sum(scores[a][b] for a in one.taken(0, 1) for b in other.taken(0, 1))
