// Settings as they are baked: what they speak of must be in the layers below.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mergeLayers } from '../../images/tar-merge.ts';
import { type TarItem, tarEntry, tarFile, writeTar } from '../../images/tar-writer.ts';
import { applySettings } from '../../install/apply-settings.ts';
import { inputStore } from '../inputs/input-store.ts';
import { layerHost } from './layer-host.ts';
import { ownLayerRules } from './own-layers.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-layer-host-'));
});
afterAll(() => rm(folder, { recursive: true }));

const zones = 'usr/share/zoneinfo';
const tzdata: readonly TarItem[] = [
  tarFile(`${zones}/Europe/Berlin`, 'TZif2'),
  tarFile(`${zones}/zone.tab`, '# a list'),
  tarFile(`${zones}/leapseconds`, '# a list'),
  { entry: tarEntry(`${zones}/Arctic`, { type: 'directory' }) },
  { entry: tarEntry(`${zones}/Arctic/Longyearbyen`, { type: 'symlink', link: '../Europe/Berlin' }) },
];

/** The layer that a time zone comes to above these files. */
async function bakeZone(zone: string, below: readonly TarItem[] = tzdata): Promise<string[]> {
  const bytes = await buffer(writeTar(below));
  const source = {
    size: bytes.length,
    async read(position: number, target: Buffer) {
      bytes.copy(target, 0, position);
      return target;
    },
  };
  const lower = await mergeLayers([{ name: 'tzdata', source }], { ...ownLayerRules, epoch: 0 });
  const host = layerHost({ inputs: inputStore(folder), epoch: 0, lower });
  await applySettings(host, { time: { zone } }, { text: async () => '' });
  const made: string[] = [];
  for await (const { entry } of host.items()) made.push(`${entry.path} ${entry.link}`.trim());
  return made;
}

describe('a time zone', () => {
  test.each(['Europe/Berlin', 'Arctic/Longyearbyen'])('%s that the system knows is set', async (zone) => {
    expect(await bakeZone(zone)).toEqual([`etc/localtime ../usr/share/zoneinfo/${zone}`, 'etc/timezone']);
  });

  test.each([
    ['Europe/Berlni', 'Europe/Berlin'],
    ['Nowhere/City', undefined],
    ['Europe', undefined],
    ['leapseconds', undefined],
  ])('%s is refused, with the nearest that there is', async (zone, near) => {
    await expect(bakeZone(zone)).rejects.toMatchObject({
      code: 'recipe-invalid',
      message: `settings.time.zone: the system knows no time zone ${zone}.`,
      hint: near === undefined ? undefined : expect.stringContaining(near),
    });
  });

  test('on a system without any is refused with the package that brings them', async () => {
    await expect(bakeZone('Europe/Berlin', [])).rejects.toMatchObject({
      hint: expect.stringContaining('tzdata'),
    });
  });
});
