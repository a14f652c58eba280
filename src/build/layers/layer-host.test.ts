// Settings as they are baked: what they speak of must be in the layers below. And what artifacts of registries come to.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mergeLayers } from '../../disk/tar/merge.ts';
import { type TarItem, tarEntry, tarFile, writeTar } from '../../disk/tar/writer.ts';
import { applySettings } from '../../install/apply-settings.ts';
import { installComponent } from '../../install/install-component.ts';
import { contentFolder } from '../content/content-folder.ts';
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
  const host = layerHost({ inputs: contentFolder(folder), epoch: 0, lower });
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

describe('an artifact', () => {
  const titled = (title: string, mediaType: string, bytes: Buffer) => ({ title, mediaType, bytes });
  const tarType = 'application/vnd.oci.image.layer.v1.tar';

  /** What comes of one with these parts, as `PATH MODE`. */
  async function bakeArtifact(
    parts: readonly { readonly title: string; readonly mediaType: string; readonly bytes: Buffer }[],
    mode?: number,
  ): Promise<string[]> {
    const inputs = contentFolder(join(folder, 'artifacts'));
    const empty = await inputs.addBytes(Buffer.from('{}'));
    const layers = await Promise.all(
      parts.map(async ({ title, mediaType, bytes }) => {
        const { sha256, sizeBytes } = await inputs.addBytes(bytes);
        const annotations = title === '' ? {} : { 'org.opencontainers.image.title': title };
        return { mediaType, digest: `sha256:${sha256}`, size: sizeBytes, annotations };
      }),
    );
    const manifest = {
      schemaVersion: 2,
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      config: {
        mediaType: 'application/vnd.oci.empty.v1+json',
        digest: `sha256:${empty.sha256}`,
        size: empty.sizeBytes,
      },
      layers,
    };
    const { sha256, sizeBytes } = await inputs.addBytes(Buffer.from(JSON.stringify(manifest)));
    const host = layerHost({ inputs, epoch: 0 });
    await installComponent(host, {
      ...{ name: 'exporter', kind: 'oci', ...(mode !== undefined && { mode }) },
      versions: [
        {
          version: '1',
          to: '/opt/exporter',
          input: { name: 'exporter', version: '1', sha256, sizeBytes, source: 'oci:x' },
        },
      ],
    });
    const made: string[] = [];
    for await (const { entry } of host.items())
      if (entry.path.startsWith('opt/')) made.push(`${entry.path} ${entry.mode.toString(8)}`);
    return made;
  }

  const program = Buffer.from('#!/bin/sh\n'.repeat(100));

  test('brings programs that can be run, unless the recipe says another mode', async () => {
    const parts = [titled('bin/exporter', 'application/octet-stream', program)];
    expect(await bakeArtifact(parts)).toEqual(['opt/exporter/bin/exporter 755']);
    expect(await bakeArtifact(parts, 0o640)).toEqual(['opt/exporter/bin/exporter 640']);
  });

  test('whose file was pushed without a type, and so as an archive, has that file', async () => {
    const tiny = titled('note', tarType, Buffer.from('x'));
    expect(await bakeArtifact([titled('exporter', tarType, program), tiny])).toEqual([
      'opt/exporter/exporter 755',
      'opt/exporter/note 755',
    ]);
  });

  test.each(['', 'share'])('has its archives unpacked with their own modes (title %j)', async (title) => {
    const bytes = gzipSync(await buffer(writeTar([tarFile('share/data', 'x', { mode: 0o600 })])));
    for (const type of [`${tarType}+gzip`, 'application/vnd.docker.image.rootfs.diff.tar.gzip'])
      expect(await bakeArtifact([titled(title, type, bytes)], 0o640)).toEqual([
        'opt/exporter/share/data 600',
      ]);
  });

  test('whose part has neither a name nor an archive in it is refused', async () => {
    await expect(bakeArtifact([titled('', 'text/plain', program)])).rejects.toMatchObject({
      code: 'tar-unsafe',
    });
  });
});
