// The lineage graph for people: as an indented tree, and as Mermaid for documents.
import type { LineageGraph, LineageNode } from './record.ts';

/** A tree from the graph's sources down. What was shown before is only named again. */
export function lineageTree({ nodes, edges }: LineageGraph): readonly string[] {
  const children = Map.groupBy(edges, ({ from }) => from);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const hasParent = new Set(edges.map(({ to }) => to));
  const shown = new Set<string>();
  const lines: string[] = [];
  const open = nodes
    .filter(({ id }) => !hasParent.has(id))
    .map((node) => ({ node, depth: 0, how: '' }))
    .reverse();
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node, depth, how } = next;
    const again = shown.has(node.id);
    lines.push(`${'  '.repeat(depth)}${how === '' ? '' : `${how} `}${told(node)}${again ? ' (above)' : ''}`);
    if (again) continue;
    shown.add(node.id);
    for (const { to, label } of (children.get(node.id) ?? []).toReversed()) {
      const child = byId.get(to);
      if (child !== undefined) open.push({ node: child, depth: depth + 1, how: label });
    }
  }
  return lines;
}

function told({ kind, label, state }: LineageNode): string {
  return `${kind} ${label}${state === undefined ? '' : ` (${state})`}`;
}

/** A flowchart. Names are ours (n0, n1, …), so that no label can break the syntax. */
export function lineageMermaid({ nodes, edges }: LineageGraph): string {
  const names = new Map(nodes.map(({ id }, index) => [id, `n${index}`]));
  return [
    'flowchart LR',
    ...nodes.map((node) => `  ${names.get(node.id)}["${escapeLabel(told(node))}"]`),
    ...edges.map(
      ({ from, to, label }) => `  ${names.get(from)} -->|"${escapeLabel(label)}"| ${names.get(to)}`,
    ),
    '',
  ].join('\n');
}

/** Mermaid reads entities in quoted labels, and ends them at a quotation mark or a line's end. */
function escapeLabel(text: string): string {
  return text.replace(/[#"&<>\r\n`]/g, (letter) => `#${letter.charCodeAt(0)};`);
}
