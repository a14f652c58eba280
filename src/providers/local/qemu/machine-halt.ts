// Watches for a machine that the hypervisor has paused because a write failed: the host's disk is full, or broken. It sees
// no error, loses nothing, and resumes as soon as the write succeeds. Whether it does is determined by retrying, which
// also works for a quota and a remote disk.
import type { MachineHalt } from './machine-host.ts';
import type { Qmp, QmpEvent } from './qmp.ts';

export interface HaltWatch {
  /** Why the machine is paused, and since when; `undefined` if it runs. */
  readonly halt: MachineHalt | undefined;
  hear(event: QmpEvent): void;
  /** Call it after a reconnect: earlier events were missed. */
  doubt(): void;
  /** Queries the machine if its state is uncertain, and lets a paused one retry. */
  look(qmp: Qmp): Promise<void>;
}

export interface HaltOptions {
  /** Whether a caller holds the machine on purpose: then it stays paused. */
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
  message: 'The hypervisor stopped the machine after an internal error. Stop the machine and start it again.',
} as const;

async function diskHalt(qmp: Qmp, reason: string | undefined): Promise<Omit<MachineHalt, 'at'>> {
  const devices = (await qmp.execute('query-block')) as readonly { readonly 'io-status'?: string }[];
  if (devices.some((device) => device['io-status'] === 'nospace')) {
    return {
      kind: 'disk-full',
      message:
        "The host's disk is full. The machine is paused, and resumes automatically when there is space.",
    };
  }
  const said = reason === undefined ? '' : ` (${reason})`;
  return {
    kind: 'disk-error',
    message: `The machine's disk cannot be written${said}. The machine is paused, and resumes automatically when it can.`,
  };
}
