// Cycles in who loads whom: one shortest cycle for each knot of files that reach each other.

export type Graph = ReadonlyMap<string, readonly string[]>;

/** Each cycle begins with its first name in the alphabet and does not repeat it at the end. */
export function findCycles(graph: Graph): readonly (readonly string[])[] {
  return knots(graph)
    .map((knot) => shortestCycle(graph, new Set(knot), knot.toSorted()[0] ?? ''))
    .filter((cycle) => cycle.length > 0)
    .toSorted((a, b) => ((a[0] ?? '') < (b[0] ?? '') ? -1 : 1));
}

/** The strongly connected parts (Tarjan). Without recursion: a chain of imports may be long. */
function knots(graph: Graph): readonly (readonly string[])[] {
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const open: string[] = [];
  const onStack = new Set<string>();
  const found: string[][] = [];
  for (const root of graph.keys()) {
    if (order.has(root)) continue;
    const work = [{ name: root, next: 0 }];
    while (work.length > 0) {
      const frame = work.at(-1);
      if (frame === undefined) break;
      const { name } = frame;
      if (frame.next === 0) {
        order.set(name, order.size);
        low.set(name, order.get(name) ?? 0);
        open.push(name);
        onStack.add(name);
      }
      const target = graph.get(name)?.[frame.next];
      frame.next += 1;
      if (target !== undefined) {
        if (!order.has(target)) work.push({ name: target, next: 0 });
        else if (onStack.has(target)) lower(low, name, order.get(target));
        continue;
      }
      work.pop();
      const parent = work.at(-1);
      if (parent !== undefined) lower(low, parent.name, low.get(name));
      if (low.get(name) === order.get(name)) {
        const knot = open.splice(open.indexOf(name));
        for (const member of knot) onStack.delete(member);
        found.push(knot);
      }
    }
  }
  return found;
}

function lower(low: Map<string, number>, name: string, value: number | undefined): void {
  low.set(name, Math.min(low.get(name) ?? Number.POSITIVE_INFINITY, value ?? Number.POSITIVE_INFINITY));
}

function shortestCycle(graph: Graph, knot: ReadonlySet<string>, start: string): readonly string[] {
  const cameFrom = new Map<string, string>();
  const queue = [start];
  for (const name of queue) {
    for (const target of graph.get(name) ?? []) {
      if (target === start) return pathTo(cameFrom, start, name);
      if (!knot.has(target) || cameFrom.has(target)) continue;
      cameFrom.set(target, name);
      queue.push(target);
    }
  }
  return [];
}

function pathTo(cameFrom: ReadonlyMap<string, string>, start: string, end: string): readonly string[] {
  const path = [end];
  for (let name = end; name !== start; ) {
    name = cameFrom.get(name) ?? start;
    path.unshift(name);
  }
  return path;
}
