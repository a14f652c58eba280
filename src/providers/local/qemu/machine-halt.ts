// A machine that the hypervisor holds still because what it wrote could not be written: the computer's disk is full,
// or broken. It sees no error, loses nothing, and goes on where it was as soon as the write succeeds; whether it does
// is found out by letting it try, which is true for a quota and a disk far away as well.
import type { MachineHalt } from './machine-host.ts';
import type { Qmp, QmpEvent } from './qmp.ts';

export interface HaltWatch {
  /** Why the machine stands still, and since when; `undefined` when it runs. */
  readonly halt: MachineHalt | undefined;
  hear(event: QmpEvent): void;
  /** Whoever connects anew has not heard what was said before. */
  doubt(): void;
  /** Finds out how the machine is when there is doubt, and lets one that stands still try again. */
  look(qmp: Qmp): Promise<void>;
}

export interface HaltOptions {
  /** Somebody holds the machine still, on purpose: it is left so. */
  held(): boolean;
  onChange(): void;
  /** Milliseconds that never go back. */
  monotonicMs?(): number;
}

const TRY_EVERY_MS = 5000;

export function watchHalt({ held, onChange, monotonicMs = () => performance.now() }: HaltOptions): HaltWatch {
  let halt: MachineHalt | undefined;
  let unsure = true;
  let triedAt = monotonicMs();
  let reason: string | undefined;

  function set(next: Omit<MachineHalt, 'at'> | undefined): void {
    if (halt?.message === next?.message) return;
    halt = next && { ...next, at: halt?.at ?? new Date().toISOString() };
    onChange();
  }

  function doubt(): void {
    unsure = true;
  }

  /** What is heard while the answer is on its way may be newer than the answer. */
  async function runState(qmp: Qmp): Promise<string> {
    unsure = false;
    try {
      return ((await qmp.execute('query-status')) as { readonly status: string }).status;
    } catch (error) {
      doubt();
      throw error;
    }
  }

  async function tryAgain(qmp: Qmp): Promise<void> {
    if (monotonicMs() - triedAt < TRY_EVERY_MS) return;
    triedAt = monotonicMs();
    await qmp.execute('cont');
  }

  return {
    get halt() {
      return halt;
    },
    hear({ event, data }) {
      if (event === 'STOP') doubt();
      if (event === 'BLOCK_IO_ERROR' && data?.action === 'stop' && typeof data.reason === 'string')
        reason = data.reason;
    },
    doubt,
    async look(qmp) {
      if ((!unsure && halt === undefined) || held()) return;
      const status = await runState(qmp);
      if (held()) return doubt();
      if (status === 'paused') await qmp.execute('cont');
      if (status === 'internal-error') return set(broken);
      if (status !== 'io-error') return set(undefined);
      const isNew = halt === undefined;
      set(await diskHalt(qmp, reason));
      if (isNew) triedAt = monotonicMs();
      else await tryAgain(qmp);
    },
  };
}

const broken = {
  kind: 'hypervisor-error',
  message:
    'The hypervisor stopped the machine after an error of its own. Stop the machine and start it again.',
} as const;

async function diskHalt(qmp: Qmp, reason: string | undefined): Promise<Omit<MachineHalt, 'at'>> {
  const devices = (await qmp.execute('query-block')) as readonly { readonly 'io-status'?: string }[];
  if (devices.some((device) => device['io-status'] === 'nospace')) {
    return {
      kind: 'disk-full',
      message:
        "The computer's disk is full: the machine stands still and goes on by itself when there is space.",
    };
  }
  const said = reason === undefined ? '' : ` (${reason})`;
  return {
    kind: 'disk-error',
    message: `The machine's disk cannot be written${said}: it stands still and goes on by itself when it can.`,
  };
}
