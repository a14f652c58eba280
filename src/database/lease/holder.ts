// Who holds the lease, recorded so that the next daemon can see that the last one is dead without waiting: a process
// that exited can no longer act.
import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';

export interface Holder {
  /** The id of this exact lease; a process that takes it twice has two. */
  readonly id: string;
  readonly pid: number;
  /** The machine since its last start, and the space that its process ids are counted in; absent where neither is known. */
  readonly place?: string;
  /** When the process began, in the machine's own ticks: its id may have been given to another since. */
  readonly began?: string;
  /** Which program the process ran: one that replaced itself keeps its id and start, but acts no more. */
  readonly program?: string;
}

const thisProgram = randomUUID();

export function thisHolder(): Holder {
  const place = processPlace();
  const began = processBegan(process.pid);
  return {
    id: randomUUID(),
    pid: process.pid,
    program: thisProgram,
    ...(place === undefined ? {} : { place }),
    ...(began === undefined ? {} : { began }),
  };
}

/** True only when it is certain: a holder on another machine, or one that cannot be looked at, may live. */
export function isDead(holder: Holder): boolean {
  if (holder.place === undefined || holder.began === undefined) return false;
  if (holder.place !== processPlace()) return false;
  if (processBegan(holder.pid) !== holder.began) return true;
  return holder.pid === process.pid && holder.program !== thisProgram;
}

function processPlace(): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return undefined;
  }
}

/** The start time in /proc/PID/stat; `undefined` when there is no such process. */
function processBegan(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state] = fields;
    return state === 'Z' || state === 'X' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}
