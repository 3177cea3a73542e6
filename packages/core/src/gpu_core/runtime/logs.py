"""Structured logs: JSON lines for collectors, readable lines on a terminal. Everything goes to one stream.

Every line has `event`, `level` and `timestamp`; `resource` and `device` where they apply.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any, TextIO, assert_never, cast

from gpu_core.config.common_settings import OperationSettings
from gpu_core.config.words import LogFormat

# structlog imports rich where it is installed, and typer brings it along: 90 ms and 5 MiB for tracebacks that these
# programs never show. A None entry makes that import fail, which structlog expects.
_RICH = sys.modules.get("rich")
sys.modules["rich"] = None  # type: ignore[assignment]
import structlog  # noqa: E402

if _RICH is None:
    del sys.modules["rich"]
else:
    sys.modules["rich"] = _RICH

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger, Processor


def configure(*, json: bool, level: str = "info", stream: TextIO | None = None) -> None:
    """Send all logs of this process to `stream` (standard error), from `level` on.

    With `json` each line is one JSON object; otherwise it is laid out for people, in colour on a terminal.
    """
    out = stream or sys.stderr
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    last: list[Processor]
    if json:
        last = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(ensure_ascii=False)]
    else:
        last = [structlog.dev.ConsoleRenderer(colors=out.isatty(), pad_event_to=0)]
    structlog.configure(
        processors=[*shared, *last],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(file=out),
        cache_logger_on_first_use=False,
    )


def configure_by(settings: OperationSettings) -> None:
    """Send all logs of this process to standard error as the settings say."""
    match settings.log_format:
        case LogFormat.AUTO:
            as_json = not sys.stderr.isatty()
        case LogFormat.JSON:
            as_json = True
        case LogFormat.TEXT:
            as_json = False
        case _:
            assert_never(settings.log_format)
    configure(json=as_json, level=settings.log_level.value)


def get_logger(**fields: Any) -> FilteringBoundLogger:
    """Return a logger whose lines all carry these fields."""
    return cast("FilteringBoundLogger", structlog.get_logger(**fields))
