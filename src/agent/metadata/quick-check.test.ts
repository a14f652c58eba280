import { beforeEach, describe, expect, it } from 'vitest';
import { type MemorySystem, memorySystem } from '../../../test/support/agent/memory-system.ts';
import { isNothingToDo, quickFacts } from './quick-check.ts';

const link = '/run/systemd/units/invocation:containerd.service';

let system: MemorySystem;
beforeEach(() => {
  system = memorySystem({ '/etc/motd': 'hello', '/run/systemd/units/x': '' });
  system.makeLink(link, 'run-1');
});

const facts = () => quickFacts(system, 'data', ['/etc/motd', '/etc/absent'], ['containerd.service']);

describe('nothing to do', () => {
  it('is found without starting a program', async () => {
    expect(await isNothingToDo(system, facts(), async () => 'data')).toBe(true);
    expect(system.commands).toEqual([]);
  });

  it.each([
    ['a file was replaced', () => replace('/etc/motd')],
    ['a file is gone', () => system.remove('/etc/motd')],
    ['a file came', () => system.writeFile('/etc/absent', '', { mode: 0o644 })],
    ['the last apply did not come to its end', () => system.makeFolder('/var/lib/imago/journal')],
    ['a unit ended', () => system.remove(link)],
    ['a unit was restarted', () => [system.remove(link), system.makeLink(link, 'run-2')]],
  ])('is not when %s', async (_, change) => {
    const known = facts();
    change();
    expect(await isNothingToDo(system, known, async () => 'data')).toBe(false);
  });

  it('is not when userData is another one, or cannot be read', async () => {
    expect(await isNothingToDo(system, facts(), async () => 'other')).toBe(false);
    expect(await isNothingToDo(system, facts(), async () => undefined)).toBe(false);
  });

  it.each([
    ['active\n', true],
    ['activating\n', false],
    ['', false],
  ])('asks systemctl about a unit whose run is unknown: %j', async (stdout, expected) => {
    system.remove(link);
    system.program(() => ({ stdout }));
    expect(await isNothingToDo(system, facts(), async () => 'data')).toBe(expected);
  });
});

function replace(path: string): void {
  system.remove(path);
  system.writeFile(path, 'hello', { mode: 0o644 });
}
