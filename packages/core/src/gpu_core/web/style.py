"""The one style sheet: readable from a phone's width up, in daylight and at night. Pure."""

from __future__ import annotations

STYLE = """
:root {
  color-scheme: light dark;
  --paper: #f6f7f9; --card: #ffffff; --ink: #1b1f24; --faint: #5c6670; --line: #d9dee4;
  --good: #116329; --bad: #a3161d; --warn: #7a4a00; --unknown: #e6e9ee;
  --good-soft: #dff3e4; --bad-soft: #fbe3e4; --warn-soft: #fdeecf;
  --near-0: #0b6b5d; --near-1: #1f8a70; --near-2: #5aa786; --near-3: #94c1a3; --near-4: #c3d8c6; --near-5: #e3ebe3;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171b; --card: #1d2126; --ink: #e7eaee; --faint: #9aa4ae; --line: #333a42;
    --good: #56d079; --bad: #ff7b80; --warn: #f0bd57; --unknown: #2a3037;
    --good-soft: #173422; --bad-soft: #43191c; --warn-soft: #3a2c10;
    --near-0: #2aa891; --near-1: #20836f; --near-2: #1c6657; --near-3: #1b4f45; --near-4: #1c3d37; --near-5: #1f302d;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.25rem; max-width: 76rem; background: var(--paper); color: var(--ink);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
}
h1 { font-size: 1.45rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 2rem 0 .6rem; }
h3 { font-size: 1rem; margin: 0; }
p { margin: .3rem 0; }
.faint { color: var(--faint); }
.small { font-size: .85rem; }
.mono { font-family: ui-monospace, "SF Mono", Menlo, "DejaVu Sans Mono", monospace; font-size: .8rem;
  overflow-wrap: anywhere; }
.name { white-space: nowrap; }
.name.long { white-space: normal; overflow-wrap: anywhere; }
.head { display: flex; flex-wrap: wrap; gap: .4rem 1rem; align-items: baseline; justify-content: space-between; }
.badge { display: inline-block; padding: .05rem .55rem; border-radius: 1rem; font-size: .82rem; font-weight: 600;
  white-space: nowrap; }
.good { color: var(--good); background: var(--good-soft); }
.bad { color: var(--bad); background: var(--bad-soft); }
.warn { color: var(--warn); background: var(--warn-soft); }
h1.bad { background: none; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .8rem .9rem; }
.card.unhealthy { border-color: var(--bad); border-left-width: .3rem; }
.cards { display: grid; gap: .8rem; align-items: start;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 17rem), 1fr)); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .35rem .7rem .35rem 0; border-top: 1px solid var(--line); vertical-align: top; }
th { color: var(--faint); font-weight: 500; font-size: .82rem; border-top: 0; }
td:last-child { padding-right: 0; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .1rem .8rem; margin: .5rem 0 0;
  font-size: .88rem; }
dt { color: var(--faint); }
dd { margin: 0; overflow-wrap: anywhere; }
ul.checks { list-style: none; margin: 0; }
ul.checks li { display: flex; gap: .6rem; padding: .25rem 0; align-items: baseline; }
pre { margin: .6rem 0 0; white-space: pre-wrap; overflow-wrap: anywhere; }
summary { cursor: pointer; }
svg text { font: 11px system-ui, "DejaVu Sans", sans-serif; fill: var(--ink); text-anchor: middle;
  dominant-baseline: central; }
svg text.axis { fill: var(--faint); }
svg rect { stroke: var(--paper); stroke-width: 2; }
.near-0 { fill: var(--near-0); } .near-1 { fill: var(--near-1); } .near-2 { fill: var(--near-2); }
.near-3 { fill: var(--near-3); } .near-4 { fill: var(--near-4); } .near-5 { fill: var(--near-5); }
.near-unknown { fill: var(--unknown); }
svg text.on-dark { fill: #ffffff; }
.swatch { display: inline-block; width: .8rem; height: .8rem; border-radius: .2rem; vertical-align: -1px;
  margin-right: .35rem; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; }
footer { margin-top: 2.5rem; color: var(--faint); font-size: .82rem; }
@media (max-width: 40rem) {
  body { padding: .8rem; }
  table.stack, table.stack tbody, table.stack tr, table.stack td { display: block; }
  table.stack thead { display: none; }
  table.stack tr { border-top: 1px solid var(--line); padding: .5rem 0; }
  table.stack td { border: 0; padding: .05rem 0; text-align: left; }
  table.stack td[data-label]::before { content: attr(data-label) " "; color: var(--faint); font-size: .82rem; }
}
"""
