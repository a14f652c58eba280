import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { clearStaleLocks, findPostmaster, processesOn } from './postmaster.ts';

const DEAD_PID = 2 ** 22 + 1;
let folder = '';
let data = '';
let sockets = '';
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-postmaster-')));
  data = join(folder, 'data');
  sockets = join(folder, 'sockets');
  mkdirSync(data);
  mkdirSync(sockets);
});
afterEach(() => rmSync(folder, { recursive: true }));

function writeLocks(pid: number | string): readonly string[] {
  const files = [join(data, 'postmaster.pid'), join(sockets, '.s.PGSQL.5432.lock')];
  for (const file of files)
    writeFileSync(file, `${pid}\n${data}\n1700000000\n5432\n${sockets}\n\n123 456\nready\n`);
  return files;
}

describe('the lock files of a server that was killed', () => {
  it('do not identify a process of another program as the server', () => {
    writeLocks(process.pid);
    expect(findPostmaster(data)).toBeUndefined();
    expect(processesOn(data)).toEqual([]);
  });

  it('are deleted if another process has their pid, because PostgreSQL would not start', () => {
    const files = writeLocks(process.pid);
    clearStaleLocks(data, sockets);
    expect(files.filter((file) => existsSync(file))).toEqual([]);
  });

  it('are left to PostgreSQL if no process has their pid, because it also checks shared memory', () => {
    const files = writeLocks(DEAD_PID);
    expect(findPostmaster(data)).toBeUndefined();
    clearStaleLocks(data, sockets);
    expect(files.filter((file) => existsSync(file))).toEqual(files);
  });

  it.each(['', 'x', '-1', '0', '1'])('that are broken name no server: %j', (pid) => {
    writeLocks(pid);
    expect(findPostmaster(data)).toBeUndefined();
    clearStaleLocks(data, sockets);
  });
});
