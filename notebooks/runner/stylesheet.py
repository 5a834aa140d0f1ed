"""How the report looks: on light and dark screens, on narrow ones and in print."""

STYLE = """
:root {
  color-scheme: light dark;
  --page: #fff; --ink: #1c1c1c; --soft: #f5f5f2; --line: #d5d5d0; --dim: #595959; --link: #0b5c94;
  --confirmed: #00684a; --differs: #8a4b00; --error: #a3003c; --untested: #595959;
}
* { box-sizing: border-box }
html { scroll-padding-top: 1rem; -webkit-text-size-adjust: 100% }
body { margin: 0 auto; max-width: 76rem; padding: 1.2rem; background: var(--page); color: var(--ink); font: 1rem/1.55 system-ui, "Liberation Sans", sans-serif; overflow-wrap: break-word }
h1, h2, h3, h4 { line-height: 1.25; text-wrap: balance }
h2 { margin-top: 2.2rem; border-top: 1px solid var(--line); padding-top: 1rem }
h3 { margin-top: 2rem }
p, li { max-width: 46rem }
a { color: var(--link) }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px }
:target { background: var(--soft) }
code { font-size: .9em; background: var(--soft); padding: 0 .2em; border-radius: .2em }
pre { background: var(--soft); padding: .7rem; overflow-x: auto; border-radius: .3rem; line-height: 1.4; overflow-wrap: normal; tab-size: 4 }
pre code { padding: 0; background: none; white-space: pre }
figure { margin: 1.2rem 0 }
figure img, p img { display: block; max-width: 100%; height: auto; background: #fff }
figcaption, .note, .from { font-size: .875rem; color: var(--dim) }
figcaption { margin-top: .4rem; max-width: 52rem }
.caption { font-weight: 600; margin: 0 0 .2rem; max-width: none }
.wide, .display { overflow-x: auto; overflow-y: hidden }
.display { display: block; margin: .8rem 0 }
math { font-family: math, "STIX Two Math", "Cambria Math", "Latin Modern Math", "DejaVu Math TeX Gyre", serif }
table { border-collapse: collapse; font-size: .875rem; margin: .3rem 0 }
th, td { padding: .3rem .45rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
th, thead td { background: var(--soft); overflow-wrap: normal }
.number { text-align: right }
td.number { font-variant-numeric: tabular-nums; white-space: nowrap }
td:not(:first-child) { overflow-wrap: normal }
td.sentence { min-width: 16rem }
td code { font-size: .75em }
.times { width: 100% }
.times .base { font-weight: 600 }
summary { cursor: pointer }
details.code { margin: 1rem 0 .4rem; font-size: .875rem }
details.code summary { color: var(--dim) }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .9rem; margin: .4rem 0; font-size: .95em }
dt { color: var(--dim) }
dd { margin: 0 }
.verdict { font-weight: 600 }
.confirmed { --verdict: var(--confirmed) } .differs { --verdict: var(--differs) } .error { --verdict: var(--error) } .untested { --verdict: var(--untested) }
.verdict { color: var(--verdict) }
nav ul { display: flex; flex-wrap: wrap; gap: .1rem 1rem; margin: 0; padding: 0 0 .6rem; list-style: none; font-size: .875rem; border-bottom: 1px solid var(--line) }
nav [aria-current] { color: var(--ink); font-weight: 600; text-decoration: none }
.card { margin-top: 1.4rem; border-top: 1px solid var(--line); font-size: .9375rem; line-height: 1.45 }
.card h3 { margin: .7rem 0 .3rem }
.card table { font-size: .8125rem }
.card p { margin: .3rem 0; max-width: none }
.near { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem }
.short { margin-top: 2rem; border-top: 1px solid var(--line) }
.short h3 { margin-top: 1rem; font-size: 1.25rem }
@media screen and (max-width: 44rem) {
  p { overflow-x: auto }
  body { padding: .8rem }
  nav li { padding: .2rem 0 }
  dl { display: block } dd { margin-bottom: .4rem }
  thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; white-space: nowrap }
  table, tbody { display: block }
  tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--line) }
  td, td.number { display: flex; justify-content: space-between; gap: 1rem; border: 0; padding: .1rem 0; text-align: right; white-space: normal }
  td:first-child { display: block; font-weight: 600; text-align: left }
  td.none { display: none }
  td:not(:first-child)::before { content: attr(data-column); color: var(--dim); font-weight: 400; text-align: left }
}
@media screen and (prefers-color-scheme: dark) {
  :root { --page: #16181a; --ink: #e2e2de; --soft: #22262a; --line: #3c4147; --dim: #a8adb2; --link: #7fc0ee; --confirmed: #56c79c; --differs: #e8a55a; --error: #ff8aa5; --untested: #a8adb2 }
  figure img, p img { filter: invert(1) hue-rotate(180deg) contrast(.9) }
  figure img.surface { filter: brightness(.85) }
}
@media print {
  :root { color-scheme: light }
  html { font-size: 9.5pt }
  body { max-width: none; padding: 0 }
  p, li, figcaption { max-width: none }
  nav, details.code { display: none }
  .wide, .display, pre { overflow: visible }
  pre code { white-space: pre-wrap }
  table { font-size: .8rem }
  pre { font-size: .85em }
  figure, tr, pre { break-inside: avoid }
  figure.table { break-inside: auto }
  h2, h3, h4, .caption, summary { break-after: avoid }
  details::details-content { content-visibility: visible; block-size: auto }
  summary { list-style: none }
}
"""

# Opens what is folded for the printer. Style alone does it in some browsers.
SCRIPT = """addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("details:not([open])")) { d.open = true; d.dataset.folded = "" } })
addEventListener("afterprint", () => { for (const d of document.querySelectorAll("details[data-folded]")) { d.open = false; delete d.dataset.folded } })"""
