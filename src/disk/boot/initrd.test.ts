import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { makeInitrd } from './initrd.ts';

const module = (name: string) => ({ name, content: Buffer.from(`module ${name}`) });
const input = {
  busybox: Buffer.from('static program'),
  first: [module('virtio_blk')],
  later: [module('hv_vmbus'), module('virtio_blk')],
  epoch: 1_750_000_000,
};

interface Unpacked {
  readonly name: string;
  readonly mode: number;
  readonly content: string;
}

function unpack(archive: Buffer): Unpacked[] {
  const found: Unpacked[] = [];
  for (let at = 0; at < archive.length; ) {
    expect(archive.toString('latin1', at, at + 6)).toBe('070701');
    const field = (index: number) =>
      Number.parseInt(archive.toString('latin1', at + 6 + index * 8, at + 14 + index * 8), 16);
    const nameEnd = at + 110 + field(11);
    const start = Math.ceil(nameEnd / 4) * 4;
    const name = archive.toString('utf8', at + 110, nameEnd - 1);
    if (name === 'TRAILER!!!') return found;
    found.push({ name, mode: field(1), content: archive.toString('utf8', start, start + field(6)) });
    at = Math.ceil((start + field(6)) / 4) * 4;
  }
  throw new Error('the archive has no end');
}

it('an initrd has busybox, each module once, a console and a start script', () => {
  const files = unpack(makeInitrd(input));
  expect(files.map(({ name }) => name)).toEqual([
    'bin',
    'dev',
    'modules',
    'proc',
    'root',
    'sys',
    'dev/console',
    'bin/busybox',
    'modules/virtio_blk.ko',
    'modules/hv_vmbus.ko',
    'init',
  ]);
  expect(files.find(({ name }) => name === 'dev/console')?.mode).toBe(0o020_600);
  const init = files.find(({ name }) => name === 'init');
  expect(init?.mode).toBe(0o100_755);
  expect(init?.content).toContain('load virtio_blk\nif ! find_root; then\n  load hv_vmbus\n');
});

it('the start script is valid shell', () => {
  const init = unpack(makeInitrd(input)).find(({ name }) => name === 'init');
  const check = spawnSync('sh', ['-n'], { input: init?.content ?? 'syntax error (' });
  expect(check.stderr.toString()).toBe('');
  expect(check.status).toBe(0);
});

it('the same input gives the same bytes', () => {
  expect(makeInitrd(input).equals(makeInitrd(input))).toBe(true);
});
