// Limits how many machines boot concurrently. A machine that cannot start waits in a queue, and its turn is announced.

export interface BootQueue {
  /** Returns whether it can boot now. If not, it is queued, and `onTurn` is called when a slot is free; it then enters. */
  enter(machineId: string): boolean;
  /** Call it when the machine has booted, stopped, or must no longer boot. Also removes it from the queue. */
  leave(machineId: string): void;
}

export function createBootQueue(places: () => number, onTurn: (machineId: string) => void): BootQueue {
  const booting = new Set<string>();
  const line = new Set<string>();

  return {
    enter(machineId) {
      if (booting.has(machineId)) return true;
      if (booting.size >= places()) {
        line.add(machineId);
        return false;
      }
      line.delete(machineId);
      booting.add(machineId);
      return true;
    },
    leave(machineId) {
      line.delete(machineId);
      booting.delete(machineId);
      const [next] = line;
      if (next !== undefined && booting.size < places()) onTurn(next);
    },
  };
}
