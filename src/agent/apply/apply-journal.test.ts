// Every point at which the machine can end: afterwards all changes are there, or none.
import { describe, expect, it } from 'vitest';
import { MachineDied, type MemorySystem, memorySystem } from '../../../test/support/agent/memory-system.ts';
import type { Change } from '../desired/change.ts';
import { folderOf, SystemFault } from '../system/system.ts';
import {
  closeJournal,
  commitChanges,
  discard,
  keepChanges,
  readJournal,
  renameIntoPlace,
  undoChanges,
} from './apply-journal.ts';

const text = (path: string, content: string, mode = 0o644): Change => ({
  path,
  wanted: { kind: 'file', text: content, mode, uid: 0, gid: 0 },
  step: 'files',
  effects: [],
});

const changes: readonly Change[] = [
  text('/etc/a', 'new a'),
  text('/etc/new/deep/b', 'new b', 0o600),
  { path: '/etc/link', wanted: { kind: 'link', target: 'a' }, step: 'files', effects: [] },
  { path: '/etc/old-link', wanted: { kind: 'link', target: '/new' }, step: 'files', effects: [] },
  { path: '/etc/gone', wanted: { kind: 'absent' }, step: 'files', effects: [] },
  { path: '/home/x', wanted: { kind: 'folder', mode: 0o750, uid: 7, gid: 7 }, step: 'users', effects: [] },
  text('/home/x/.ssh/keys', 'k', 0o600),
  {
    path: '/var/lib/kept',
    wanted: { kind: 'copy', from: '/etc/a', mode: 0o644, uid: 0, gid: 0 },
    step: 'files',
    effects: [],
  },
];

const facts = {
  digest: 'd',
  bootId: 'b',
  effects: [],
  kernelValues: [{ path: '/proc/sys/vm/x', value: '1' }],
};
const record = { path: '/var/lib/imago/config.json', text: 'all of it' };

function machine(): MemorySystem {
  const system = memorySystem({
    '/etc/a': 'old a',
    '/etc/gone': 'going',
    '/var/lib/x': '',
    '/proc/sys/vm/x': '1',
  });
  system.makeLink('/etc/old-link', '/old');
  system.run(['sync', '--', '/etc']);
  return system;
}

async function apply(system: MemorySystem): Promise<void> {
  const journal = await commitChanges(system, changes, facts, record);
  system.setKernelValue('/proc/sys/vm/x', '2');
  await keepChanges(system, journal, record);
}

/** What the agent does at its start. */
async function recover(system: MemorySystem): Promise<void> {
  const journal = readJournal(system);
  if (journal?.state === 'preparing') await discard(system, journal);
  else if (journal?.state === 'committed') {
    renameIntoPlace(system, journal);
    system.setKernelValue('/proc/sys/vm/x', '2');
    await keepChanges(system, journal, record);
  } else if (journal?.state === 'undoing') {
    await undoChanges(system, journal);
    await closeJournal(system);
  }
}

async function survive(work: () => Promise<void>): Promise<unknown> {
  try {
    await work();
    return undefined;
  } catch (thrown) {
    return thrown;
  }
}

function withoutKernel(system: MemorySystem): Readonly<Record<string, string>> {
  const entries = Object.entries(system.snapshot());
  return Object.fromEntries(entries.filter(([path]) => !/^\/(?:proc|var\/lib\/imago)\//.test(path)));
}

const before = withoutKernel(machine());
const done = machine();
done.dieAt(0, 'before');
await apply(done);
const after = withoutKernel(done);
const allCalls = done.calls();
const journal = '/var/lib/imago/journal';

describe('changes that are made as one', () => {
  it('are all there at the end, and nothing else is', () => {
    expect(after).toEqual({
      '/etc/a': '644 0:0 new a',
      '/etc/link': '-> a',
      '/etc/new/deep/b': '600 0:0 new b',
      '/etc/old-link': '-> /new',
      '/home/x/.ssh/keys': '600 0:0 k',
      '/var/lib/kept': '644 0:0 old a',
      '/var/lib/x': '644 0:0 ',
    });
    expect(done.facts('/home/x')).toMatchObject({ mode: 0o750, uid: 7 });
    expect(done.list('/var/lib/imago')).toEqual(['config.json']);
  });

  it('are all on the disk before their record is, and it is before the journal goes', async () => {
    const system = machine();
    const unsafe = new Set<string>();
    const watched: MemorySystem = {
      ...system,
      rename: (from, to) => {
        if (to === record.path) expect([...unsafe].filter((folder) => folder !== journal)).toEqual([]);
        for (const path of [from, to]) unsafe.add(folderOf(path));
        system.rename(from, to);
      },
      remove: (path) => {
        if (path === `${journal}/current.json`) expect([...unsafe]).not.toContain(folderOf(record.path));
        if (system.facts(path) !== undefined) unsafe.add(folderOf(path));
        system.remove(path);
      },
      run: (command, options) => {
        if (command[0] === 'sync') for (const path of command.slice(2)) unsafe.delete(path);
        return system.run(command, options);
      },
    };
    expect.hasAssertions();
    await apply(watched);
  });

  it('take the space of their record before anything changes', async () => {
    const system = machine();
    const journal = await commitChanges(system, changes, facts, record);
    system.fillAt(1);
    await keepChanges(system, journal, record);
    expect(system.readText(record.path)).toBe(record.text);
  });

  it('end as all or none when the agent is killed at any call', async () => {
    const seen = new Set<string>();
    for (let call = 1; call <= allCalls; call += 1) {
      for (const when of ['before', 'after'] as const) {
        const system = machine();
        system.dieAt(call, when);
        expect(await survive(() => apply(system))).toBeInstanceOf(MachineDied);
        system.restart();
        await recover(system);
        const found = withoutKernel(system);
        const end = found['/etc/a'] === after['/etc/a'] ? 'after' : 'before';
        expect(found, `killed ${when} call ${call}`).toEqual(end === 'after' ? after : before);
        expect(system.readText(record.path)).toBe(end === 'after' ? record.text : undefined);
        expect(readJournal(system)).toBeUndefined();
        seen.add(end);
      }
    }
    expect([...seen].sort()).toEqual(['after', 'before']);
  });

  it('end as all or none when the power is cut at any call, whatever the disk kept', async () => {
    for (let call = 1; call <= allCalls; call += 1) {
      const probe = machine();
      probe.dieAt(call, 'after');
      await survive(() => apply(probe));
      for (let kept = 0; kept <= probe.pendingNames(); kept += 1) {
        const system = machine();
        system.dieAt(call, 'after');
        await survive(() => apply(system));
        system.powerCut(kept);
        await recover(system);
        const found = withoutKernel(system);
        const end = found['/etc/a'] === after['/etc/a'] ? after : before;
        expect(found, `cut after call ${call} with ${kept} names`).toEqual(end);
        expect(system.readText(record.path)).toBe(end === after ? record.text : undefined);
      }
    }
  });

  it('survive a kill during the recovery from a kill', async () => {
    for (let first = 1; first <= allCalls; first += 3) {
      for (let second = 1; second <= 12; second += 1) {
        const system = machine();
        system.dieAt(first, 'after');
        await survive(() => apply(system));
        system.restart();
        system.dieAt(second, 'after');
        await survive(() => recover(system));
        system.restart();
        await recover(system);
        const found = withoutKernel(system);
        const end = found['/etc/a'] === after['/etc/a'] ? after : before;
        expect(found, `killed at ${first}, then at ${second}`).toEqual(end);
      }
    }
  });

  it('are not made if the disk is full at any write, and report it', async () => {
    for (let write = 1; write <= 12; write += 1) {
      const system = machine();
      system.fillAt(write);
      const thrown = await survive(() => apply(system));
      expect(thrown, `full at write ${write}`).toMatchObject({ code: 'ENOSPC' });
      expect(thrown).toBeInstanceOf(SystemFault);
      expect(withoutKernel(system)).toEqual(before);
      expect(readJournal(system)).toBeUndefined();
    }
  });

  it('are reverted without any free space on the disk, even after a kill at any call', async () => {
    const whole = machine();
    const journal = await commitChanges(whole, changes, facts);
    whole.dieAt(0, 'before');
    await undoChanges(whole, journal);
    for (let call = 1; call <= whole.calls(); call += 1) {
      const system = machine();
      const committed = await commitChanges(system, changes, facts);
      system.setKernelValue('/proc/sys/vm/x', '2');
      system.dieAt(call, 'after');
      system.fillAt(1);
      await survive(() => undoChanges(system, committed));
      system.restart();
      const left = readJournal(system);
      expect(left?.state).toBe('undoing');
      if (left !== undefined) await undoChanges(system, left);
      expect(withoutKernel(system), `killed at ${call}`).toEqual(before);
      expect(system.readText('/proc/sys/vm/x')).toBe('1');
    }
  });

  it('are refused when a folder stands where a file should be, and nothing is touched', async () => {
    const system = memorySystem({ '/etc/a/inside': 'x' });
    await expect(commitChanges(system, [text('/etc/a', 'y')], facts)).rejects.toMatchObject({
      code: 'EISDIR',
    });
    expect(Object.keys(system.snapshot())).toEqual(['/etc/a/inside']);
  });
});
