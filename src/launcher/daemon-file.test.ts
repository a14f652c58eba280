import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type DaemonFile, readDaemonFile, removeDaemonFile, writeDaemonFile } from './daemon-file.ts';

const content: DaemonFile = {
  process: { pid: 4711, startTicks: 12, boot: 'b' },
  version: '1.2.3',
  socket: '/run/x/api.sock',
  ready: true,
  startedAt: '2026-01-01T00:00:00.000Z',
  settings: { listen: '127.0.0.1:7070' },
};
let folder = '';
let path = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'imago-file-'));
  path = join(folder, 'daemon.json');
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('daemon.json', () => {
  it('gives back what was written, to its owner alone, and leaves no other file', () => {
    writeDaemonFile(path, content);
    expect(readDaemonFile(path)).toEqual(content);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['daemon.json']);
  });

  it.each([
    ['truncated by a crash', '{"process":{"pid":47'],
    ['empty', ''],
    ['of another form', '[]'],
    [
      'with a pid that is none',
      JSON.stringify({ ...content, process: { pid: 0, startTicks: 1, boot: 'b' } }),
    ],
    ['with a second process that is none', JSON.stringify({ ...content, postgres: { pid: 1 } })],
  ])('is not trusted when it is %s', (_, text) => {
    writeFileSync(path, text);
    expect(readDaemonFile(path)).toBeUndefined();
  });

  it('is absent when there is none', () => {
    expect(readDaemonFile(path)).toBeUndefined();
  });

  it('is not removed by a daemon that ends late, when its successor has written it', () => {
    writeDaemonFile(path, content);
    removeDaemonFile(path, { pid: 4712, startTicks: 1, boot: 'b' });
    expect(readDaemonFile(path)).toEqual(content);
    removeDaemonFile(path, content.process);
    expect(readDaemonFile(path)).toBeUndefined();
  });
});
