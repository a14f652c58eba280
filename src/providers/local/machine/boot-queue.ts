// How many machines boot at the same time. One that cannot begin waits in line, and is told when it is its turn.

export interface BootQueue {
  /** Whether it may boot now. If not, it stands in line, and `onTurn` is called when a place is free; it then enters. */
  enter(machineId: string): boolean;
  /** It has booted, died, or is not to boot any more; also takes it out of the line. */
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
