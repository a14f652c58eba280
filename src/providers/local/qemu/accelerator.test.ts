import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bootProbe, probeAccelerator } from './accelerator.ts';

let folder: string;
let qemu: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-accelerator-'));
  qemu = join(folder, 'qemu');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function standIn(script: string): Promise<void> {
  await writeFile(qemu, `#!/bin/sh\necho "$@" >>${folder}/calls\n${script}\n`);
  await chmod(qemu, 0o755);
}

describe('the probe', () => {
  it('passes only when the machine in it did its work', async () => {
    await standIn('exit 85');
    expect(await bootProbe(qemu, 'kvm', 10_000)).toBeUndefined();
    await standIn('echo "failed to initialize kvm: Permission denied" >&2; exit 1');
    expect(await bootProbe(qemu, 'kvm', 10_000)).toBe(
      'ended with code 1: failed to initialize kvm: Permission denied',
    );
  });

  it('counts a hypervisor that hangs as absent', async () => {
    await standIn('exec sleep 600');
    expect(await bootProbe(qemu, 'kvm', 100)).toBe('did not end within 100 ms');
  });

  it('tells when QEMU cannot be started', async () => {
    expect(await bootProbe(join(folder, 'none'), 'kvm', 10_000)).toMatch(/could not be started/);
  });
});

describe('the answer', () => {
  it('is cached for this host, and probed again if QEMU changes', async () => {
    await standIn('exit 85');
    const cacheFile = join(folder, 'cache', 'accelerator.json');
    const first = await probeAccelerator({ qemu, cacheFile });
    expect(first.reason).not.toBe('');
    const calls = async () => readFile(join(folder, 'calls'), 'utf8').catch(() => '');
    const before = await calls();
    expect(await probeAccelerator({ qemu, cacheFile })).toEqual(first);
    expect(await calls()).toBe(before);
    await writeFile(cacheFile, 'damaged');
    expect(await probeAccelerator({ qemu, cacheFile })).toEqual(first);
    const { fingerprint } = JSON.parse(await readFile(cacheFile, 'utf8')) as { fingerprint: string };
    await standIn('exit 85 # another one');
    await probeAccelerator({ qemu, cacheFile });
    const after = JSON.parse(await readFile(cacheFile, 'utf8')) as { fingerprint: string };
    expect(after.fingerprint).not.toBe(fingerprint);
  });
});
