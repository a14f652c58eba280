// Where versions come from and what became of them, as one graph: recipe → lock → build → version → channel move
// → pool → node → capture → next version.
import { parseReference } from '../image/reference.ts';
import type { Origin } from '../image/version.ts';
import type { LineageEdge, LineageGraph, LineageNode } from './record.ts';

export type { Behind, LineageGraph, ParentStatus } from './record.ts';

/** The parent that an origin names: by digest, or as NAME:VERSION or NAME@DIGEST. */
export type ParentName =
  | { readonly kind: 'digest'; readonly digest: string; readonly image?: string }
  | { readonly kind: 'version'; readonly image: string; readonly version: string };

/** `undefined` for origins without a parent, and for one that cannot be read: lineage is told, never guessed. */
export function parentOf(origin: Origin): ParentName | undefined {
  const text = 'parent' in origin && typeof origin.parent === 'string' ? origin.parent : undefined;
  if (text === undefined) return undefined;
  if (/^sha256:[0-9a-f]{64}$/.test(text)) return { kind: 'digest', digest: text };
  try {
    const reference = parseReference(text);
    if (reference.kind === 'version') {
      return { kind: 'version', image: reference.image, version: reference.version };
    }
    if (reference.kind === 'digest') {
      return { kind: 'digest', digest: reference.digest, image: reference.image };
    }
  } catch {
    return undefined;
  }
  return undefined;
}

/** All ways in which an origin may name this version as its parent. */
export function namesOf(version: {
  readonly image: string;
  readonly version: string;
  readonly digest: string;
}): readonly string[] {
  const { image, version: number, digest } = version;
  return [digest, `${image}:${number}`, `${image}@${digest}`];
}

/** A graph under construction: a node or edge that is there already is not added again. */
export class LineageBuilder {
  readonly #nodes = new Map<string, LineageNode>();
  readonly #edges = new Map<string, LineageEdge>();

  add(node: LineageNode): string {
    if (!this.#nodes.has(node.id)) this.#nodes.set(node.id, node);
    return node.id;
  }

  join(from: string, to: string, label: string): void {
    this.#edges.set(`${from}\n${to}`, { from, to, label });
  }

  graph(): LineageGraph {
    const known = (id: string) => this.#nodes.has(id);
    return {
      nodes: [...this.#nodes.values()],
      edges: [...this.#edges.values()].filter(({ from, to }) => known(from) && known(to)),
    };
  }
}

export function daysBetween(earlier: string, later: string): number {
  return Math.max(0, Math.floor((Date.parse(later) - Date.parse(earlier)) / 86_400_000));
}
