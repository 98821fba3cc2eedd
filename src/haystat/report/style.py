"""The look of the page: light and dark, wide and narrow, colours of Okabe and Ito."""

STYLE = """
:root { color-scheme: light dark; --ink: #1d2329; --soft: #59636e; --paper: #ffffff;
  --card: #f5f7f9; --rule: #d5dbe1; --a: #0072b2; --b: #b34d00; --c: #8a949e; --warn: #fff4d6;
  --warn-rule: #b37e00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --soft: #a3adb8; --paper: #14181c;
  --card: #1e242a; --rule: #39424b; --a: #56b4e9; --b: #e69f00; --c: #77828d; --warn: #3a2f10;
  --warn-rule: #e6b84d; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 66rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0.5rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 0.4rem; padding-top: 0.8rem;
  border-top: 1px solid var(--rule); }
h3 { font-size: 1rem; margin: 1rem 0 0.3rem; overflow-wrap: anywhere; }
p { margin: 0.4rem 0; max-width: 46rem; overflow-wrap: anywhere; }
.soft, figcaption { color: var(--soft); font-size: 0.9rem; }
.cards { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }
.card { background: var(--card); border: 1px solid var(--rule); border-radius: 8px;
  padding: 0.9rem 1.1rem; min-width: 0; max-width: 40rem; }
.summary { border-left: 4px solid var(--a); padding: 0.3rem 1rem; margin: 0.8rem 0 1.2rem; }
.summary p { max-width: 60rem; font-size: 1.06rem; }
.cards > .table { align-self: center; }
svg .mark { fill: var(--paper); stroke: var(--ink); stroke-width: 2.5; }
svg .start { text-anchor: start; }
.big { font-size: 2.2rem; font-weight: 650; line-height: 1.1; }
.range { color: var(--soft); }
.warn { background: var(--warn); border-left: 4px solid var(--warn-rule); padding: 0.5rem 0.8rem;
  margin: 0.6rem 0; max-width: 46rem; overflow-wrap: anywhere; }
figure { margin: 0.6rem 0; max-width: 36rem; min-width: 0; }
.table { overflow-x: auto; margin: 0.5rem 0; max-width: 100%; }
table { border-collapse: collapse; max-width: 100%;
  font-variant-numeric: tabular-nums; font-size: 0.92rem; }
th, td { padding: 0.25rem 0.7rem 0.25rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--rule); overflow-wrap: break-word; max-width: 18rem; }
th { font-weight: 600; }
td.n, th.n { text-align: right; white-space: nowrap; padding-right: 0.9rem; }
td.long { min-width: 8rem; max-width: 26rem; } td.name { white-space: nowrap; }
dl { display: grid; grid-template-columns: minmax(7rem, auto) 1fr; gap: 0.15rem 1rem;
  margin: 0.5rem 0; font-size: 0.92rem; }
dt { color: var(--soft); }
dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
code { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 0.88em;
  overflow-wrap: anywhere; }
svg { display: block; width: 100%; height: auto; font: 13px system-ui, sans-serif; }
svg text { fill: var(--ink); } svg .small { font-size: 10.5px; fill: var(--soft); }
svg .middle { text-anchor: middle; } svg .end { text-anchor: end; }
svg .axis { stroke: var(--soft); stroke-width: 1; } svg .grid { stroke: var(--rule); }
.fill-a { fill: var(--a); } .fill-b { fill: var(--b); } .fill-c { fill: var(--c); }
.line-a { fill: none; stroke: var(--a); stroke-width: 2; }
.line-b { fill: none; stroke: var(--b); stroke-width: 2; }
.band-a { fill: var(--a); opacity: 0.22; } .band-b { fill: var(--b); opacity: 0.22; }
@media (max-width: 34rem) { table { font-size: 0.8rem; } th, td { padding-right: 0.45rem; }
  td.n, th.n { white-space: normal; padding-right: 0.45rem; } td.name { white-space: normal; }
  td.long { min-width: 7rem; } }
@page { margin: 14mm; }
@media print { :root { --ink: #000; --soft: #444; --paper: #fff; --card: #fff; --rule: #bbb;
  --a: #0072b2; --b: #b34d00; --c: #8a949e; } body { font-size: 10pt; } main { padding: 0; }
  .table { overflow: visible; } table { font-size: 8.5pt; width: 100%; } td.n, th.n, td.name {
  white-space: normal; } td.long { min-width: 0; } h2 { break-after: avoid; }
  .cards { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  figure, tr, .card, .summary { break-inside: avoid; } }
"""
