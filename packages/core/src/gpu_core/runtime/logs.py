"""Structured logs: JSON lines for collectors, readable lines on a terminal. Everything goes to one stream.

Every line has `event`, `level` and `timestamp`; `resource` and `device` where they apply.
"""

from __future__ import annotations

import io
import logging
import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO, assert_never, cast

from gpu_core.config.programs.settings import OperationSettings
from gpu_core.config.words import LogFormat
from gpu_core.runtime.log_text import block, is_block, plain
from gpu_core.runtime.outlet import outlet_of

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
    from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

_NOT_OURS = ("exc_info", "stack_info")
"""What structlog makes texts of by itself."""


def configure(*, json: bool, level: str = "info", stream: TextIO | None = None, colours: bool = True) -> None:
    """Send all logs of this process to `stream` (standard error, which nobody waits for), from `level` on.

    With `json` each line is one JSON object; otherwise it is laid out for people, on a terminal in colour unless
    `colours` says no.
    """
    out = stream or sys.stderr
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _plain,
    ]
    last: list[Processor]
    if json:
        last = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(ensure_ascii=False)]
    else:
        last = [_ForPeople(colours=colours and out.isatty())]
    structlog.configure(
        processors=[*shared, *last],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(file=out),
        cache_logger_on_first_use=False,
    )
    outlet = outlet_of(out)
    if outlet is not None:
        outlet.notice = _notice


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
    configure(json=as_json, level=settings.log_level.value, colours=not settings.no_color)
    _hear_others()


def _plain(_: WrappedLogger, __: str, fields: EventDict) -> EventDict:
    """Make every field what it is in JSON, in text as well, where Python's own way to write it is no help."""
    return {name: value if name in _NOT_OURS else plain(value) for name, value in fields.items()}


class _ForPeople:
    """Lays a line out for people, with what is large below it."""

    def __init__(self, *, colours: bool) -> None:
        self._line = structlog.dev.ConsoleRenderer(colors=colours, pad_event_to=0)

    def __call__(self, logger: WrappedLogger, method: str, fields: EventDict) -> str:
        large = [name for name, value in fields.items() if name not in ("event", *_NOT_OURS) and is_block(value)]
        blocks = [block(fields.pop(name)) for name in large]
        return "\n".join([self._line(logger, method, fields), *filter(None, blocks)])


def _hear_others() -> None:
    """Make lines of ours of what Python and libraries would write to standard error by themselves.

    Where somebody else listens already, as a test runner does, that stays.
    """
    if not logging.root.handlers:
        logging.root.addHandler(_FromLibraries())
        logging.captureWarnings(True)
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _uncaught
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = _uncaught_in_thread
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _passed_over


class _FromLibraries(logging.Handler):
    """Takes what libraries give to Python's own logging."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            message = record.getMessage().strip()
        except Exception:  # noqa: BLE001  A library's mistake in what it says must not end what it does.
            message = str(record.msg)
        log = get_logger(source=record.name)
        (log.error if record.levelno >= logging.ERROR else log.warning)(message, exc_info=record.exc_info)


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    get_logger().critical("The program ends by a mistake of its own", exc_info=(kind, error, trace))


def _uncaught_in_thread(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is None or isinstance(args.exc_value, SystemExit):
        return
    name = "" if args.thread is None else args.thread.name
    get_logger().error("A thread has ended by a mistake of the program", thread=name, exc_info=args.exc_value)


def _passed_over(args: sys.UnraisableHookArgs) -> None:
    message = args.err_msg or "A mistake could not be passed on to anybody"
    get_logger().error(message, object=repr(args.object), exc_info=args.exc_value)


def _notice(lost: int) -> str:
    """Return the line that tells how many were lost, in the form of the others."""
    line = io.StringIO()
    log = structlog.wrap_logger(structlog.WriteLogger(line))
    log.warning("Log lines were lost here, as nobody took them", lines=lost)
    return line.getvalue()


def get_logger(**fields: Any) -> FilteringBoundLogger:
    """Return a logger whose lines all carry these fields."""
    return cast("FilteringBoundLogger", structlog.get_logger(**fields))
