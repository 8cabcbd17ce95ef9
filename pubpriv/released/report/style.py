"""How a report looks on a screen, a telephone and paper. No fonts, pictures or scripts are loaded."""

CSS = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: #fff; color: #1a1a1a; font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Helvetica,
  Arial, sans-serif; overflow-wrap: anywhere; }
main { max-width: 60rem; margin: 0 auto; padding: 1.25rem 1rem 3rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: .5rem 0 1rem; }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 2.4rem 0 .6rem; padding-top: .9rem; border-top: 2px solid #1a1a1a; }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
p, ul { max-width: 44rem; margin: .5rem 0; }
ul { padding-left: 1.2rem; }
.first { border: 2px solid #8a1c1c; background: #fdf1f0; padding: .2rem 1rem .6rem; margin: 1rem 0; }
.first h2 { border: 0; padding: 0; margin: .6rem 0 .2rem; color: #8a1c1c; }
.alarm { background: #8a1c1c; color: #fff; font-weight: 700; padding: .7rem 1rem; margin: 1rem 0; max-width: none; }
.promise { border-left: 4px solid #0072b2; padding: .1rem 0 .1rem 1rem; }
.promise p { font-weight: 600; }
.quiet { color: #454545; font-size: .92rem; }
figure { margin: 1rem 0; }
figure svg { display: block; width: 100%; max-width: 28rem; height: auto; }
figcaption { color: #454545; font-size: .92rem; max-width: 44rem; margin-top: .4rem; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 25rem), 1fr)); gap: 0 2rem;
  align-items: start; }
.pair > * { min-width: 0; }
.scroll { overflow-x: auto; max-width: 100%; margin: 0 0 .8rem; }
.scroll:focus-visible { outline: 2px solid #0072b2; outline-offset: 2px; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
.caption, caption { text-align: left; font-weight: 600; }
.caption { margin: 1rem 0 .2rem; font-size: .92rem; }
caption { padding-bottom: .3rem; }
th, td { text-align: right; padding: .28rem .7rem .28rem 0; border-bottom: 1px solid #d0d0d0; vertical-align: top; }
th:first-child, td:first-child, .text td { text-align: left; }
thead th { border-bottom: 1px solid #1a1a1a; vertical-align: bottom; }
td { white-space: nowrap; }
tbody th { font-weight: 400; min-width: 6rem; overflow-wrap: anywhere; }
.scroll tbody th { position: sticky; left: 0; background: #fff; }
.facts td { text-align: left; white-space: normal; overflow-wrap: anywhere; }
.facts tbody th { min-width: 0; white-space: nowrap; color: #454545; }
.heat td { text-align: center; padding: .3rem .35rem; min-width: 2.9rem; border: 1px solid #fff; }
.heat th { padding-right: .6rem; }
.heat thead th { text-align: center; }
.this { font-weight: 700; }
footer { margin-top: 2.5rem; border-top: 1px solid #d0d0d0; color: #454545; font-size: .85rem; }
@media (max-width: 30rem) {
  body { font-size: .95rem; }
  h1 { font-size: 1.3rem; }
  .facts tbody th { white-space: normal; }
  .scroll tbody th { max-width: 8rem; }
  .facts th, .facts td { display: block; border: 0; padding: 0; }
  .facts tr { display: block; padding: .3rem 0; border-bottom: 1px solid #d0d0d0; }
  .facts tbody th { min-width: 0; font-size: .85rem; }
}
@media print {
  @page { margin: 16mm 14mm; }
  html { font-size: 9.5pt; }
  body { font-size: 1rem; color: #000; background: #fff; }
  main { max-width: none; padding: 0; }
  h1, h2, h3, .caption, caption { break-after: avoid; }
  td { white-space: normal; }
  h2 { margin-top: 1.4rem; }
  figure, tr, .first, .promise, svg { break-inside: avoid; }
  thead { display: table-header-group; }
  figure svg { max-width: 13cm; }
  .scroll { overflow: visible; }
  .pair { display: block; }
  .first, .alarm { background: #fff; color: #000; border: 2px solid #000; }
  .first h2, .quiet, figcaption, footer { color: #000; }
  .heat td { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""
