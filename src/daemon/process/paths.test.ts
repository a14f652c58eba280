import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ImagoError } from '../../domain/error/imago-error.ts';
import {
  explainFolderError,
  prepareStateFolder,
  removeRuntimeFolders,
  runtimePaths,
  runtimePathsOf,
  secureFolder,
} from './paths.ts';

const uid = process.getuid?.() ?? 0;
const gid = process.getgid?.() ?? 0;
const here = { env: {}, uid };
let folder = '';
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-paths-')));
});
afterEach(() => rmSync(folder, { recursive: true }));

function codeOf(work: () => unknown): string | undefined {
  try {
    work();
  } catch (error) {
    return error instanceof ImagoError ? error.code : String(error);
  }
  return undefined;
}

describe('the state folder', () => {
  it('is made closed to others, and a second time left as it is', () => {
    const home = join(folder, 'a', 'höme with spaces');
    const paths = prepareStateFolder(home, here);
    expect(paths.home).toBe(home);
    for (const path of [home, paths.logs, paths.postgres]) expect(statSync(path).mode & 0o777).toBe(0o700);
    writeFileSync(paths.daemonLog, 'kept');
    prepareStateFolder(home, here);
    expect(statSync(paths.daemonLog).size).toBe(4);
    expect(readdirSync(home).sort()).toEqual(['log', 'postgres']);
  });

  it('is one folder, by whichever link it is reached', () => {
    mkdirSync(join(folder, 'real'));
    symlinkSync(join(folder, 'real'), join(folder, 'link'));
    expect(prepareStateFolder(join(folder, 'link'), here).home).toBe(join(folder, 'real'));
  });

  it('is refused when it is a file', () => {
    writeFileSync(join(folder, 'file'), '');
    expect(codeOf(() => prepareStateFolder(join(folder, 'file'), here))).toBe('state-folder-unusable');
    expect(codeOf(() => prepareStateFolder(join(folder, 'file', 'below'), here))).toBe(
      'state-folder-unusable',
    );
  });

  it('is refused when every user may write to it', () => {
    chmodSync(folder, 0o777);
    expect(codeOf(() => prepareStateFolder(folder, here))).toBe('state-folder-foreign');
  });

  it('is refused when it belongs to another user', () => {
    if (uid === 0) chownSync(folder, 12_345, 12_345);
    const somebody = { env: {}, uid: uid === 0 ? 0 : uid + 1 };
    expect(codeOf(() => prepareStateFolder(folder, somebody))).toBe('state-folder-foreign');
  });

  it.each([
    ['ENOSPC', 'no-space'],
    ['EDQUOT', 'no-space'],
    ['EROFS', 'state-folder-unusable'],
    ['EACCES', 'state-folder-unusable'],
  ])('explains %s as %s', (code, expected) => {
    const explained = explainFolderError(Object.assign(new Error('x'), { code }), '/somewhere');
    expect(explained).toMatchObject({ code: expected });
    expect((explained as Error).message).toContain('/somewhere');
  });

  it('leaves errors alone that it does not understand', () => {
    const error = Object.assign(new Error('x'), { code: 'EIO' });
    expect(explainFolderError(error, '/somewhere')).toBe(error);
  });
});

describe('the runtime folder', () => {
  it('has the same short name for one state folder, and another for another', () => {
    const deep = `/${'very-long-folder-name/'.repeat(20)}`;
    const paths = runtimePaths(deep, here);
    expect(paths).toEqual(runtimePaths(deep, here));
    expect(paths.apiFolder).not.toBe(runtimePaths('/other', here).apiFolder);
    expect(Buffer.byteLength(paths.apiSocket)).toBeLessThan(107);
    expect(Buffer.byteLength(join(paths.postgresFolder, '.s.PGSQL.5432.lock'))).toBeLessThanOrEqual(107);
  });

  it("is the user's own one when the system gave them one that fits", () => {
    const own = { env: { XDG_RUNTIME_DIR: folder }, uid };
    const expected = uid === 0 ? /^\/(run|tmp)\/imago-/ : new RegExp(`^${folder}/imago-`);
    expect(runtimePaths('/x', own).apiFolder).toMatch(expected);
  });

  it.each([
    ['too long', `/tmp/${'x'.repeat(80)}`],
    ['not there', '/nonexistent-runtime'],
    ['relative', 'run'],
    ['open to a comma in a list of folders', '/tmp/a,b'],
  ])('ignores a runtime directory of the environment that is %s', (_, path) => {
    const paths = runtimePaths('/x', { env: { XDG_RUNTIME_DIR: path }, uid: 12_345 });
    expect(paths.apiFolder.startsWith(path)).toBe(false);
  });

  it('is closed to other users, even if it existed before', () => {
    const path = join(folder, 'run');
    mkdirSync(path, { mode: 0o755 });
    secureFolder(path, { uid, gid });
    expect(statSync(path).mode & 0o777).toBe(0o700);
  });

  it('is refused if it is a link', () => {
    mkdirSync(join(folder, 'target'));
    symlinkSync(join(folder, 'target'), join(folder, 'run'));
    expect(codeOf(() => secureFolder(join(folder, 'run'), { uid, gid }))).toBe('runtime-folder-foreign');
  });

  it('is removed with what is ours in it, and never with what is not', () => {
    const runtime = runtimePathsOf(join(folder, 'imago-1', 'api.sock'));
    mkdirSync(runtime.apiFolder);
    mkdirSync(runtime.postgresFolder);
    writeFileSync(runtime.apiSocket, '');
    writeFileSync(join(runtime.postgresFolder, 'precious'), '');
    removeRuntimeFolders(runtime);
    removeRuntimeFolders(runtime);
    expect(existsSync(runtime.apiFolder)).toBe(false);
    expect(readdirSync(runtime.postgresFolder)).toEqual(['precious']);
  });
});
