import { expect, test } from 'vitest';
import { agentFiles } from '../../agent/agent-files.ts';
import { deferUnits } from '../../build/layers/deferred-units.ts';
import { rootFiles } from '../../disk/boot/root-files.ts';
import { applySettings } from '../../install/apply-settings.ts';
import type { Host } from '../../install/host.ts';
import { ownPaths } from './reserved-paths.ts';

/** The paths that settings of every kind come to. */
async function settingsFiles(): Promise<readonly string[]> {
  const written: string[] = [];
  const host: Pick<Host, 'readText' | 'writeText'> = {
    readText: async () => '',
    async writeText(path) {
      written.push(path);
    },
  };
  const settings = {
    sysctl: { 'vm.swappiness': 1 },
    modules: [{ name: 'br_netfilter', options: 'x=1' }],
    limits: { nofile: 1 },
    time: { servers: ['time.example.test'] },
  };
  await applySettings(host as Host, settings, { text: async () => '' });
  return written;
}

/** The units that the image build adds. */
async function lateFiles(): Promise<readonly string[]> {
  const written: string[] = [];
  const host: Pick<Host, 'readText' | 'readLink' | 'list' | 'writeText' | 'link'> = {
    readText: async () => undefined,
    readLink: async () => undefined,
    list: async () => [],
    async writeText(path) {
      written.push(path);
    },
    link: async () => undefined,
  };
  await deferUnits(host as Host);
  return written;
}

const written = [
  ...(await lateFiles()),
  ...(await settingsFiles()),
  ...agentFiles().map(({ path }) => path),
  ...rootFiles(0).flatMap(({ entry }) => (entry.type === 'directory' ? [] : [`/${entry.path}`])),
];

test.each(written)('%s, which Imago writes, is closed to recipes', (place) => {
  expect(ownPaths.some(({ path }) => place === path || place.startsWith(`${path}/`))).toBe(true);
});
