// How the exported catalog looks: one sheet, no fonts or scripts from anywhere, light and dark, from a phone's width
// to a wide screen. Tables become cards where they would not fit.

export const catalogStyle = `:root {
  color-scheme: light dark;
  --ink: #17202c;
  --soft: #566273;
  --line: #dfe4ea;
  --page: #ffffff;
  --card: #f6f8fa;
  --link: #0b57a4;
  --good: #13652f;
  --good-back: #e2f3e7;
  --warn: #7a4a00;
  --warn-back: #fdf0d5;
  --bad: #9b1c1c;
  --bad-back: #fde8e8;
  --plain-back: #e9eef5;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e8edf3;
    --soft: #a3afbd;
    --line: #2e3846;
    --page: #10151c;
    --card: #181f29;
    --link: #82b9f5;
    --good: #8fdca8;
    --good-back: #14331f;
    --warn: #f3cd86;
    --warn-back: #3a2a0c;
    --bad: #f5a3a3;
    --bad-back: #3d1717;
    --plain-back: #222c39;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0;
  background: var(--page);
  color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: 1rem; padding: .5rem 1rem; background: var(--page); z-index: 1; }
a { color: var(--link); text-underline-offset: .15em; }
a:focus-visible, pre:focus-visible, summary:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 3px; }
header, main, footer { max-width: 68rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2rem; }
header .name { font-weight: 650; font-size: 1.05rem; text-decoration: none; color: var(--ink); }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: .75rem 0 0; padding: 0 0 .75rem; list-style: none; border-bottom: 1px solid var(--line); }
nav a { display: inline-block; padding: .35rem 0; }
nav a[aria-current] { color: var(--ink); font-weight: 600; text-decoration: none; border-bottom: 2px solid var(--link); }
h1 { font-size: 1.9rem; line-height: 1.2; letter-spacing: -.015em; margin: 2rem 0 .5rem; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 2.5rem 0 .75rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
p { margin: .5rem 0; max-width: 46rem; }
.lead, .meta { color: var(--soft); }
.lead { font-size: 1.05rem; }
.meta { font-size: .9rem; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); font-size: .9rem; padding-bottom: .5rem; }
th, td { text-align: left; vertical-align: top; padding: .6rem 1rem .6rem 0; border-bottom: 1px solid var(--line); }
thead th { font-size: .8rem; font-weight: 600; color: var(--soft); letter-spacing: .02em; }
tbody th { font-weight: 600; }
tbody th { overflow-wrap: anywhere; }
.cards { table-layout: fixed; font-size: .95rem; }
.cards th:nth-child(1) { width: 20%; }
.cards th:nth-child(2) { width: 10%; }
.cards th:nth-child(3) { width: 13%; }
.cards th:nth-child(4) { width: 19%; }
.cards th:nth-child(5) { width: 13%; }
.cards th:nth-child(6) { width: 14%; }
.cards th:nth-child(7) { width: 11%; }
.cards td:last-child { padding-right: 0; white-space: nowrap; }
.tags { display: flex; flex-wrap: wrap; gap: .3rem; }
.tag { display: inline-block; padding: .05rem .5rem; border-radius: 1rem; font-size: .82rem; font-weight: 550; background: var(--plain-back); white-space: nowrap; }
.tag.good { color: var(--good); background: var(--good-back); }
.tag.warn { color: var(--warn); background: var(--warn-back); }
.tag.bad { color: var(--bad); background: var(--bad-back); }
.note { border-left: 4px solid var(--line); background: var(--card); padding: .75rem 1rem; margin: 1rem 0; max-width: none; }
.note.warn { border-color: var(--warn); }
.note.bad { border-color: var(--bad); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .45rem 1.5rem; margin: 1rem 0; }
dt { color: var(--soft); }
dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
code, pre { font-family: var(--mono); font-size: .86rem; }
code { overflow-wrap: anywhere; }
pre { margin: .5rem 0 1rem; padding: .9rem 1rem; overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 8px; line-height: 1.5; }
h4 { font-size: .9rem; margin: 1rem 0 .25rem; color: var(--soft); font-weight: 600; }
.references pre { white-space: pre-wrap; overflow-wrap: anywhere; -webkit-user-select: all; user-select: all; }
.files { padding-left: 1.2rem; }
.notes h1 { font-size: 1.25rem; }
.notes h2 { font-size: 1.05rem; }
.notes { border-top: 1px solid var(--line); margin-top: 2.5rem; }
.scroll { overflow-x: auto; }
footer { margin-top: 4rem; padding-bottom: 3rem; color: var(--soft); font-size: .9rem; }
footer p { max-width: none; padding-top: 1rem; border-top: 1px solid var(--line); }
@media (max-width: 44rem) {
  header { padding-top: 1.25rem; }
  h1 { font-size: 1.5rem; }
  .cards thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
  .cards tr { display: block; padding: .8rem 1rem; margin-bottom: .8rem; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
  .cards th, .cards td { display: flex; justify-content: space-between; gap: 1rem; border: 0; padding: .2rem 0; text-align: right; }
  .cards th:nth-child(n), .cards td:nth-child(n) { width: auto; }
  .cards th { font-size: 1.05rem; text-align: left; }
  .cards td { padding-right: 0; }
  .cards td::before { content: attr(data-label); color: var(--soft); text-align: left; flex: none; }
  .cards td:empty { display: none; }
  .cards .tags { justify-content: flex-end; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .7rem; }
}
@media print {
  nav, .skip { display: none; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
}
`;
