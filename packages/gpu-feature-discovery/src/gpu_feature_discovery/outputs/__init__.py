"""Where labels can go, one module for each destination."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Output(Protocol):
    """A destination of labels, or a choice of them."""

    @property
    def place(self) -> str:
        """Where the labels go, for messages."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The destinations that it chooses among, itself alone where there is no choice."""

    @property
    def active(self) -> Part:
        """The part that labels went to last."""

    def publish(self, labels: Mapping[str, str]) -> None:
        """Make these the labels, and no others of ours. Raises PublishError or ClusterError."""

    def withdraw(self) -> None:
        """Take back what does not outlive the program. Raises PublishError."""


class Part(Output, Protocol):
    """One destination. Equal texts as `place` mean the same one."""

    @property
    def feeds_nfd(self) -> bool:
        """Whether node-feature-discovery labels the node from here."""

    @property
    def grace(self) -> float:
        """How many seconds after labels went elsewhere they may be taken back here without a gap between the two."""

    def take_back(self, inherited: Mapping[str, str], *, known: bool) -> bool:
        """Remove what we published here, since labels go elsewhere now, and return whether anything was left.

        `inherited` are the labels that node-feature-discovery sets from now on. What is here is ours for sure where
        this process put it, `known`; otherwise only what proves to be ours is removed. Raises PublishError or
        ClusterError.
        """
