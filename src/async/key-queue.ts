// Lets runs with one key through one at a time, in the order of their places. One process runs operations at
// a time, so this can live in memory: at start the engine reserves the places of what was left unfinished.

export interface KeyGate {
  /** Takes a place at the end of the key's line. A second call with the same id keeps the first place. */
  reserve(key: string, id: string): void;
  /** Resolves when everyone before `id` has left; reserves a place first when it has none. */
  enter(key: string, id: string): Promise<void>;
  /** Lets a run in that waits, out of its turn and without a place. Others are left alone. */
  letPass(id: string): void;
  /** Gives the place up and lets the next one in. Unknown ids are ignored. */
  leave(key: string, id: string): void;
}

export function createKeyGate(): KeyGate {
  const lines = new Map<string, string[]>();
  const waiting = new Map<string, { readonly key: string; enter(): void }>();

  function lineOf(key: string): string[] {
    const line = lines.get(key) ?? [];
    lines.set(key, line);
    return line;
  }

  function letIn(id: string | undefined): void {
    if (id === undefined) return;
    waiting.get(id)?.enter();
    waiting.delete(id);
  }

  function reserve(key: string, id: string): void {
    const line = lineOf(key);
    if (!line.includes(id)) line.push(id);
  }

  function leave(key: string, id: string): void {
    const line = lineOf(key);
    const place = line.indexOf(id);
    if (place !== -1) line.splice(place, 1);
    if (place === 0) letIn(line[0]);
    if (line.length === 0) lines.delete(key);
  }

  return {
    reserve,
    enter(key, id) {
      reserve(key, id);
      if (lineOf(key)[0] === id) return Promise.resolve();
      return new Promise((resolve) => waiting.set(id, { key, enter: resolve }));
    },
    letPass(id) {
      const waiter = waiting.get(id);
      if (waiter === undefined) return;
      leave(waiter.key, id);
      letIn(id);
    },
    leave,
  };
}
