import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { LocalProvider } from '../../providers/local/provider.ts';
import type { MachineHost } from '../../providers/local/qemu/machine-host.ts';
import { closeLocal } from './local-machines.ts';

let home: string;
const kill = vi.fn(async () => undefined);
const close = vi.fn(async () => undefined);
const list = () => [{ id: 'one' }, { id: 'two' }];
const provider = { host: { list, kill } as unknown as MachineHost, close } as unknown as LocalProvider;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'imago-home-'));
  vi.clearAllMocks();
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

it('a daemon that ends leaves its machines to the next one', async () => {
  await closeLocal(provider, home);
  expect(kill).not.toHaveBeenCalled();
  expect(close).toHaveBeenCalledOnce();
});

it('a daemon whose state directory was deleted stops its machines, which could not be found again', async () => {
  rmSync(home, { recursive: true });
  await closeLocal(provider, home);
  expect(kill.mock.calls).toEqual([['one'], ['two']]);
  expect(close).toHaveBeenCalledOnce();
});
