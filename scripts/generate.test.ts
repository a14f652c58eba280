import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { errorCatalog } from '../src/domain/error/catalog.ts';
import { errorsPage } from './errors-page.ts';
import { type GeneratedFile, generate } from './generate.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'imago-generate-'));
});
afterEach(() => rm(root, { recursive: true }));

async function run(
  files: readonly GeneratedFile[],
  check: boolean,
): Promise<{ code: number; lines: string[] }> {
  const lines: string[] = [];
  return { code: await generate(root, files, check, (line) => lines.push(line)), lines };
}

const page: GeneratedFile = { path: 'docs/page.md', make: async () => 'one\ntwo\n' };

describe('generated files', () => {
  test('are written once, and leave nothing beside them', async () => {
    expect(await run([page], false)).toEqual({ code: 0, lines: ['docs/page.md: written'] });
    const written = await stat(path.join(root, page.path));
    expect(await run([page], false)).toEqual({ code: 0, lines: ['docs/page.md: up to date'] });
    expect((await stat(path.join(root, page.path))).ino).toBe(written.ino);
    expect(await readdir(path.join(root, 'docs'))).toEqual(['page.md']);
  });

  test('that are missing or out of date fail the check, which writes nothing', async () => {
    expect(await run([page], true)).toMatchObject({
      code: 1,
      lines: ['docs/page.md: is missing', expect.anything()],
    });
    expect(await readdir(root)).toEqual([]);
    await run([page], false);
    await writeFile(path.join(root, page.path), 'one\n2\n');
    expect((await run([page], true)).lines[0]).toBe('docs/page.md: is out of date from line 2');
    expect(await readFile(path.join(root, page.path), 'utf8')).toBe('one\n2\n');
    await run([page], false);
    expect((await run([page], true)).code).toBe(0);
  });

  test('whose maker fails do not stop the others', async () => {
    const broken = {
      path: 'docs/broken.md',
      make: () => {
        throw new Error('no such part');
      },
    };
    expect(await run([broken, page], false)).toEqual({
      code: 1,
      lines: ['docs/broken.md: cannot be made: no such part', 'docs/page.md: written'],
    });
  });
});

describe('docs/errors.md', () => {
  test('has a heading for every code, once', () => {
    const headings = errorsPage().match(/^### .*$/gm) ?? [];
    expect(headings.toSorted()).toEqual(
      Object.keys(errorCatalog)
        .map((code) => `### ${code}`)
        .toSorted(),
    );
  });

  test('shows the hint of each code under its kind with the exit code', () => {
    const [, refused = ''] = errorsPage().split('## Refused\n');
    expect(refused).toMatch(/^\nExit code 4 · HTTP 403/);
    expect(refused).toContain('### channel-backwards\n\nPass --allow-downgrade.\n');
    expect(errorsPage()).not.toContain('undefined');
  });
});
