import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { openLog, rotateByCopy } from './log.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'imago-log-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function lines(path: string): Record<string, unknown>[] {
  return readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('the log', () => {
  it('has one JSON object a line, there as soon as the call returns', () => {
    const path = join(folder, 'daemon.log');
    openLog(path).warn('two\nlines', { count: 3 });
    expect(lines(path)).toMatchObject([{ level: 'warn', message: 'two\nlines', count: 3, pid: process.pid }]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('names an error by its code and keeps the stack of its cause', () => {
    const path = join(folder, 'daemon.log');
    const error = new ImagoError('no-space', 'full', { cause: new Error('ENOSPC') });
    openLog(path).error('it failed', { error });
    expect(lines(path)[0]?.error).toMatchObject({ code: 'no-space', message: 'full' });
    expect(JSON.stringify(lines(path)[0])).toContain('Error: ENOSPC');
  });

  it('is rotated by size, and the oldest goes', () => {
    const path = join(folder, 'daemon.log');
    const log = openLog(path, { maxBytes: 300, keep: 2 });
    for (let n = 0; n < 30; n += 1) log.info(`message number ${n}`);
    expect(readdirSync(folder).sort()).toEqual(['daemon.log', 'daemon.log.1', 'daemon.log.2']);
    for (const name of readdirSync(folder))
      expect(statSync(join(folder, name)).size).toBeLessThanOrEqual(300);
    expect(lines(path).at(-1)).toMatchObject({ message: 'message number 29' });
    expect(lines(`${path}.1`).at(-1)?.message).toBe(`message number ${29 - lines(path).length}`);
  });

  it('appends to the log of the previous daemon', () => {
    const path = join(folder, 'daemon.log');
    openLog(path).info('first');
    openLog(path).info('second');
    expect(lines(path).map(({ message }) => message)).toEqual(['first', 'second']);
  });

  it('never stops the daemon when it cannot be written, and is there again when it can', () => {
    const path = join(folder, 'sub', 'daemon.log');
    const log = openLog(path);
    log.info('lost');
    mkdirSync(join(folder, 'sub'));
    log.info('kept');
    expect(lines(path)).toMatchObject([{ message: 'kept' }]);
  });

  it('of another process is rotated without replacing its file', () => {
    const path = join(folder, 'postgres.log');
    appendFileSync(path, 'x'.repeat(100));
    const before = statSync(path).ino;
    rotateByCopy(path, 50);
    expect(statSync(path)).toMatchObject({ ino: before, size: 0 });
    expect(statSync(`${path}.1`).size).toBe(100);
    rotateByCopy(path, 50);
    expect(statSync(`${path}.1`).size).toBe(100);
    rotateByCopy(join(folder, 'none'), 50);
  });
});
