// Work on one thing comes one after the other, in the order in which it was asked for.

/** Runs the work when all earlier work on the same key has ended, however it ended. */
export type InTurn = <T>(key: string, work: () => Promise<T>) => Promise<T>;

export function createTurns(): InTurn {
  const last = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const turn = (last.get(key) ?? Promise.resolve()).catch(() => undefined).then(work);
    last.set(key, turn);
    const clear = () => {
      if (last.get(key) === turn) last.delete(key);
    };
    turn.then(clear, clear);
    return turn;
  };
}
