// Backing up on one host and restoring on another, by the commands of the how-to.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createImago, type Imago, recipe } from '../support/imago.ts';
import { until } from '../support/until.ts';

let old: Imago;
let fresh: Imago;
let backup: string;
let key: string;

beforeAll(async () => {
  [old, fresh] = await Promise.all([createImago(), createImago()]);
  await old.writeFile('imago.yaml', recipe);
  await old.json(['build']);
  backup = `${old.folder}/imago.backup`;
  const written = await old.json<object>(['backup', backup]);
  expect(written).toMatchObject({ file: backup, encrypted: false, holds: ['records'] });
  key = await old.writeFile('old.pub', (await old.run(['keys', 'show'])).out);
  await fresh.json(['up']);
});

afterAll(() => Promise.all([old?.end(), fresh?.end()]));

async function images(): Promise<readonly object[]> {
  return (await fresh.json<{ items: object[] }>(['image', 'list'])).items;
}

test('a backup of another host is refused until the restore names its key', async () => {
  const unknown = await fresh.run(['restore', backup]);
  expect([unknown.code, unknown.err]).toEqual([4, expect.stringContaining('--key old.pub')]);
  await fresh.json(['keys', 'trust', key, '--owner', 'old']);
  const trusted = await fresh.run(['restore', backup]);
  expect([trusted.code, trusted.err]).toEqual([4, expect.stringContaining('only trusted to sign images')]);
  const keys = await fresh.writeFile('keys.pub', (await old.run(['keys', 'show'])).out.repeat(2));
  const several = await fresh.run(['restore', backup, '--key', keys]);
  expect([several.code, several.err]).toEqual([2, expect.stringContaining('several keys')]);
  expect(await images()).toEqual([]);
});

test('the dry run shows the plan and changes nothing; the restore brings everything', async () => {
  const dry = await fresh.run(['restore', backup, '--key', key, '--dry-run']);
  expect([dry.code, dry.out]).toEqual([0, expect.stringContaining('Load a backup of')]);
  expect(await images()).toEqual([]);
  expect(await fresh.json(['restore', backup, '--key', key])).toMatchObject({ keysRestored: false });
  expect(
    await until('the daemon is back', async () => (await images()).length > 0 && images()),
  ).toMatchObject([{ name: 'node' }]);
});
