import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import type { HostMachineStatus, MachineHost } from '../qemu/machine-host.ts';
import { hostAccess } from './node-access.ts';

function accessTo(shell: PassThrough, scripts: string[] = [], state: HostMachineStatus['state'] = 'running') {
  const host: Partial<MachineHost> = {
    status: (id) => ({ id, state, forwards: [] }),
    openShell: async () => shell,
    report: () => undefined,
    async runCommand(_, script) {
      scripts.push(script);
      throw new Error('no agent');
    },
  };
  return hostAccess(host as MachineHost);
}

it('ends a shell when the machine reports its exit, even if that arrives in chunks', async () => {
  const shell = new PassThrough();
  const { output } = await accessTo(shell).openShell('one');
  const words: string[] = [];
  const reading = (async () => {
    for await (const chunk of output) words.push(Buffer.from(chunk).toString());
  })();
  for (const piece of ['hello \u001b]', 'im', 'possible \u001b]imago', ';exit', '\u0007next'])
    shell.write(piece);
  await reading;
  expect(words.join('')).toBe('hello \u001b]impossible ');
  expect(shell.destroyed).toBe(true);
});

it('ends a shell that is closed, without an error', async () => {
  const session = await accessTo(new PassThrough()).openShell('one');
  session.close();
  for await (const _ of session.output) throw new Error('nothing was said');
});

it('sends the size of the terminal as integers, and ignores a machine that cannot receive it', async () => {
  const scripts: string[] = [];
  const session = await accessTo(new PassThrough(), scripts).openShell('one');
  await session.resize({ rows: 24, columns: 80 });
  expect(scripts).toEqual(['stty -F /dev/hvc0 rows 24 cols 80']);
});

it('knows no machine that is absent, and no timeline before the first report', async () => {
  const absent = accessTo(new PassThrough(), [], 'absent');
  await expect(absent.console('one', 1)).rejects.toMatchObject({ code: 'machine-not-found' });
  await expect(absent.openShell('one')).rejects.toMatchObject({ code: 'machine-not-found' });
  expect(await accessTo(new PassThrough()).timeline('one')).toBeUndefined();
});
