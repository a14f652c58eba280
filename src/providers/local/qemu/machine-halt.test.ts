import { beforeEach, describe, expect, it } from 'vitest';
import { type HaltWatch, watchHalt } from './machine-halt.ts';
import type { Qmp } from './qmp.ts';

let status: string;
let ioStatus: string;
let sent: string[];
let now: number;
let changes: (string | undefined)[];
let held: boolean;
let watch: HaltWatch;

/** QEMU as far as it is asked; `cont` has the effect that a test gives it. */
let onCont: () => void;
const qmp: Qmp = {
  async execute(command) {
    sent.push(command);
    if (command === 'query-status') return { status };
    if (command === 'query-block') return [{ 'io-status': 'ok' }, { 'io-status': ioStatus }];
    onCont();
    return {};
  },
  ended: new Promise(() => undefined),
  close: () => undefined,
};

beforeEach(async () => {
  [status, ioStatus, sent, now, changes, held] = ['running', 'nospace', [], 0, [], false];
  onCont = () => {
    status = 'running';
  };
  watch = watchHalt({
    held: () => held,
    onChange: () => changes.push(watch.halt?.kind),
    monotonicMs: () => now,
  });
  await watch.look(qmp);
  sent = [];
});

function stop(reason?: string): void {
  status = 'io-error';
  if (reason !== undefined) watch.hear({ event: 'BLOCK_IO_ERROR', data: { action: 'stop', reason } });
  watch.hear({ event: 'STOP' });
}

describe('a machine that cannot write', () => {
  it('is paused until there is space: it retries every few seconds, and reports it once', async () => {
    stop();
    onCont = () => undefined;
    for (now = 0; now < 12_000; now += 1000) await watch.look(qmp);
    expect(watch.halt).toMatchObject({ kind: 'disk-full', message: expect.stringContaining('full') });
    expect(sent.filter((command) => command === 'cont')).toHaveLength(2);
    onCont = () => {
      status = 'running';
    };
    for (; now < 18_000; now += 1000) await watch.look(qmp);
    expect(watch.halt).toBeUndefined();
    expect(changes).toEqual(['disk-full', undefined]);
  });

  it('for another reason than space says which', async () => {
    ioStatus = 'failed';
    stop('Input/output error');
    await watch.look(qmp);
    expect(watch.halt).toMatchObject({
      kind: 'disk-error',
      message: expect.stringContaining('(Input/output error)'),
    });
  });

  it('is found by a daemon that came later', async () => {
    status = 'io-error';
    await watch.look(qmp);
    expect(watch.halt).toBeUndefined();
    watch.doubt();
    await watch.look(qmp);
    expect(watch.halt).toMatchObject({ kind: 'disk-full' });
  });

  it('is detected even if it stopped during an earlier query, or that query failed', async () => {
    watch.doubt();
    const late: Qmp = {
      ...qmp,
      async execute(command) {
        const answer = await qmp.execute(command);
        stop();
        return answer;
      },
    };
    await watch.look(late);
    const silent: Qmp = { ...qmp, execute: () => Promise.reject(new Error('no answer')) };
    await expect(watch.look(silent)).rejects.toThrow('no answer');
    await watch.look(qmp);
    expect(watch.halt).toMatchObject({ kind: 'disk-full' });
  });

  it('is not resumed while a caller holds it on purpose', async () => {
    stop();
    await watch.look(qmp);
    held = true;
    for (now = 0; now < 30_000; now += 1000) await watch.look(qmp);
    expect(sent).not.toContain('cont');
  });
});

it('a machine that a daemon held when it ended goes on; one that is held now does not', async () => {
  status = 'paused';
  held = true;
  watch.hear({ event: 'STOP' });
  await watch.look(qmp);
  expect(sent).toEqual([]);
  held = false;
  await watch.look(qmp);
  expect(sent).toEqual(['query-status', 'cont']);
  expect(changes).toEqual([]);
});

it('a machine that the hypervisor abandoned is reported, and not retried', async () => {
  status = 'internal-error';
  watch.hear({ event: 'STOP' });
  for (now = 0; now < 30_000; now += 1000) await watch.look(qmp);
  expect(watch.halt).toMatchObject({ kind: 'hypervisor-error' });
  expect(sent).not.toContain('cont');
});

it('a machine that runs is asked nothing', async () => {
  for (now = 0; now < 30_000; now += 1000) await watch.look(qmp);
  expect(sent).toEqual([]);
});
