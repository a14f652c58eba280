// What ./check starts by scripts/as-ordinary-user.ts: root's call becomes an ordinary user's, with the cache that root
// has, and nothing of it is left.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { collect } from '../support/imago.ts';
import { canBeOrdinary, ordinaryUser } from '../support/ordinary-user.ts';
import { until } from '../support/until.ts';

const root = resolve(import.meta.dirname, '../..');
const script = join(root, 'scripts/as-ordinary-user.ts');
let folder: string;
let cache: string;
let content: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-aou-'));
  cache = join(folder, 'cache');
  content = join(cache, 'test/build/content/00');
  await mkdir(content, { recursive: true });
  await mkdir(join(folder, 'temporary'));
  await chmod(folder, 0o755);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function start(shell: string): ChildProcess {
  return spawn(process.execPath, [script, 'sh', '-euc', shell], {
    cwd: root,
    env: {
      ...process.env,
      ...{
        IMAGO_CACHE: cache,
        IMAGO_TEST_REPORT: join(folder, 'skipped.json'),
        TMPDIR: join(folder, 'temporary'),
      },
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

async function left(): Promise<readonly string[]> {
  const work = (await readdir(join(cache, 'test'))).filter((name) => name !== 'build');
  return [...work, ...(await readdir(join(folder, 'temporary')))];
}

describe.runIf(canBeOrdinary)('a command that root starts for an ordinary user', () => {
  it('is not root’s, may not write into the tree, and tells its exit code and its report', async () => {
    const shell =
      'id -u; cat package.json | head -1; echo told >"$IMAGO_TEST_REPORT"; ! touch written 2>&1; exit 7';
    const { code, out, err } = await collect(start(shell));
    expect({ code, err }).toEqual({ code: 7, err: '' });
    expect(out).toMatch(/^[1-9]\d*\n\{\ntouch: .*denied\n$/);
    expect(await readFile(join(folder, 'skipped.json'), 'utf8')).toBe('told\n');
    expect(await left()).toEqual([]);
  });

  it('finds what is in root’s cache, and what it puts there is root’s afterwards', async () => {
    await writeFile(join(content, 'known'), 'known', { mode: 0o600 });
    await writeFile(join(content, 'seen'), 'seen');
    await writeFile(join(cache, 'test/build/content/lock'), '');
    const shell = [
      'cd "$IMAGO_CACHE/test/build/content"; cat 00/known 00/seen; ls',
      'rm 00/seen; mkdir 11; echo new >11/new; echo half >11/half.new; echo mine >lock',
    ].join('; ');
    const { code, out } = await collect(start(shell));
    expect({ code, out }).toEqual({ code: 0, out: 'knownseen00\n' });
    expect(await readdir(join(content, '../11'))).toEqual(['new']);
    expect(await stat(join(content, '../11/new'))).toMatchObject({ uid: 0, gid: 0 });
    expect(await readFile(join(content, 'seen'), 'utf8')).toBe('seen');
    expect((await stat(join(content, 'known'))).mode & 0o777).toBe(0o600);
    expect(await left()).toEqual([]);
  });

  it('ends by the signal that its starter gets, and a machine that it started ends with it', async () => {
    const child = start(': >"$HOME/disk"; setsid sh -c "echo \\$\\$; exec tail -f \\"$HOME/disk\\"" & wait');
    const [chunk] = (await once(child.stdout ?? child, 'data')) as [Buffer];
    const pid = Number(chunk.toString());
    expect(existsSync(`/proc/${pid}`)).toBe(true);
    child.kill('SIGINT');
    expect((await collect(child)).code).toBe(130);
    await until('the machine is gone', () => !existsSync(`/proc/${pid}`));
    expect(await left()).toEqual([]);
  });

  it('is started as himself by one who is not root', async () => {
    const user = ordinaryUser(folder);
    const [program, ...args] = user.node('scripts/as-ordinary-user.ts', 'sh', '-c', 'id -u; exit 3');
    const child = spawn(program, args, { cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] });
    expect(await collect(child)).toMatchObject({ code: 3, out: `${user.uid}\n`, err: '' });
  });
});
