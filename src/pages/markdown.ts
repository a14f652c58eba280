// The part of Markdown that release notes are made of, as HTML: headings, lists, tables, code, emphasis, paragraphs.
// Everything else stays text, and no markup of its own gets through: notes quote what others wrote.
import { type Html, html } from './html.ts';

/** `topLevel` is the level that `#` becomes: notes stand below the headings of their page. */
export function markdownToHtml(text: string, topLevel: 2 | 3 = 2): Html {
  const lines = text.split(/\r?\n/);
  const blocks: Html[] = [];
  while (lines.length > 0) {
    const [line = ''] = lines;
    if (line.trim() === '') lines.shift();
    else blocks.push(readBlock(lines, line, topLevel));
  }
  return html`${blocks}`;
}

function readBlock(lines: string[], line: string, topLevel: number): Html {
  if (/^```/.test(line)) return codeBlock(lines);
  const heading = /^(#{1,6}) +(.*)$/.exec(line);
  if (heading !== null) {
    lines.shift();
    const level = Math.min(6, topLevel + (heading[1]?.length ?? 1) - 1);
    return { html: `<h${level}>${inline(heading[2] ?? '').html}</h${level}>\n` };
  }
  if (line.startsWith('|') && /^\|[\s:|-]+\|\s*$/.test(lines[1] ?? '')) return table(lines);
  if (/^[-*] /.test(line)) {
    const items = take(lines, (next) => /^[-*] /.test(next));
    return html`<ul>${items.map((item) => html`<li>${inline(item.slice(2))}</li>`)}</ul>
`;
  }
  const words = take(lines, (next, index) => next.trim() !== '' && (index === 0 || !startsBlock(next)));
  return html`<p>${inline(words.join(' '))}</p>
`;
}

function startsBlock(line: string): boolean {
  return /^(?:```|#{1,6} |\||[-*] )/.test(line);
}

function codeBlock(lines: string[]): Html {
  const [fence = ''] = /^`+/.exec(lines.shift() ?? '') ?? [];
  const code = take(lines, (line) => !(line.startsWith(fence) && line.trim() === fence));
  lines.shift();
  return html`<pre tabindex="0"><code>${code.join('\n')}</code></pre>
`;
}

function table(lines: string[]): Html {
  const [heads = '', , ...rows] = take(lines, (line) => line.startsWith('|'));
  return html`<div class="scroll"><table>
<thead><tr>${cells(heads).map((cell) => html`<th scope="col">${inline(cell)}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${cells(row).map((cell) => html`<td>${inline(cell)}</td>`)}</tr>`)}</tbody>
</table></div>
`;
}

function cells(row: string): readonly string[] {
  return row
    .trim()
    .replace(/^\||(?<!\\)\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
}

function inline(text: string): Html {
  const parts = text.split(/(`[^`]+`|\*\*[^*]+\*\*)/);
  return html`${parts.map((part) => {
    if (/^`[^`]+`$/.test(part)) return html`<code>${part.slice(1, -1)}</code>`;
    if (/^\*\*[^*]+\*\*$/.test(part)) return html`<strong>${part.slice(2, -2)}</strong>`;
    return part;
  })}`;
}

function take(lines: string[], fits: (line: string, index: number) => boolean): string[] {
  let count = 0;
  for (const [index, line] of lines.entries()) {
    if (!fits(line, index)) break;
    count += 1;
  }
  return lines.splice(0, count);
}
