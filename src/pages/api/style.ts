// The look of the OpenAPI page: no font, image or script, light and dark, readable at any width.

export const docsStyle = `
:root { color-scheme: light dark; --text: #1b1f24; --soft: #57606a; --line: #d0d7de; --back: #ffffff; --code: #f3f5f7; --link: #0550ae; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --soft: #9aa5b1; --line: #3d444d; --back: #0d1117; --code: #1b222b; --link: #79b8ff; }
}
* { box-sizing: border-box; }
body { margin: 0; color: var(--text); background: var(--back); font: 16px/1.5 system-ui, sans-serif; }
a { color: var(--link); }
a:focus-visible, summary:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 1rem; top: 1rem; background: var(--back); padding: .5rem 1rem; }
.page { display: grid; grid-template-columns: 17rem minmax(0, 60rem); gap: 2.5rem; padding: 0 1.5rem; }
nav { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow: auto; padding: 1.5rem 0; }
nav ul { list-style: none; margin: 0 0 1rem; padding: 0; }
nav li { margin: .15rem 0; font-size: .9rem; }
nav h2 { font-size: .85rem; margin: 0 0 .25rem; color: var(--soft); border: 0; padding: 0; }
h1 { margin: 1.5rem 0 .5rem; }
h2 { margin: 2.5rem 0 1rem; padding-bottom: .25rem; border-bottom: 1px solid var(--line); }
h3 { margin: 2rem 0 .25rem; font-size: 1.1rem; scroll-margin-top: 1rem; }
h4 { margin: 1rem 0 .25rem; font-size: .95rem; }
p { margin: .35rem 0; }
code { font: .9em ui-monospace, monospace; background: var(--code); padding: .1em .3em; border-radius: 3px; overflow-wrap: anywhere; }
th code { overflow-wrap: normal; white-space: nowrap; }
.method { display: inline-block; min-width: 4.5rem; font-weight: 700; }
.soft { color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
caption { text-align: left; color: var(--soft); padding: .25rem 0; }
th, td { text-align: left; vertical-align: top; padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--line); }
@media (max-width: 60rem) { .page { grid-template-columns: minmax(0, 1fr); gap: 0; } nav { position: static; max-height: none; } }
@media print { nav { display: none; } }
`;
