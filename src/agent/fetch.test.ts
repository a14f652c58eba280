import { describe, expect, it } from 'vitest';
import type { NodeConfig } from '../domain/node-config/schema.ts';
import { createOutside } from './fetch.ts';
import { memorySystem } from './memory-system.ts';
import type { MetadataService } from './metadata.ts';

const hotfix = {
  component: 'runc',
  version: '1.1.15+ds1-2',
  source: 'https://files.example.com/runc.deb',
  sha256: 'a'.repeat(64),
};

/** What dpkg says about the package; which programs were run, and what was fetched. */
async function install(status: string) {
  const system = memorySystem();
  system.program(([name, word]) =>
    name === 'dpkg-query' && word === '--status' ? { exitCode: 0, stdout: status } : { exitCode: 0 },
  );
  const fetched: string[] = [];
  const fetcher = {
    file: async ({ source }: { readonly source: string }) => {
      fetched.push(source);
      return '/downloaded';
    },
    archive: () => Promise.reject(new Error('there is no archive')),
  };
  const config: NodeConfig = { schemaVersion: 1 };
  await createOutside(system, config, {} as MetadataService, fetcher).installPackage(hotfix);
  return { fetched, installs: system.commands.filter((command) => command.startsWith('dpkg --install')) };
}

const installed = 'Package: runc\nStatus: install ok installed\nVersion: 1.1.15+ds1-2\n';

describe('a hotfix that is a package', () => {
  it('is neither fetched nor installed when the image has that version, whatever its receipts say', async () => {
    expect(await install(installed)).toEqual({ fetched: [], installs: [] });
  });

  it.each([
    installed.replace('ds1-2', 'ds1-1'),
    installed.replace('ds1-2', 'ds1-2+b1'),
    installed.replace('install ok installed', 'deinstall ok config-files'),
    '',
  ])('is installed when the package is %j', async (status) => {
    expect(await install(status)).toEqual({
      fetched: [hotfix.source],
      installs: ['dpkg --install /downloaded'],
    });
  });
});
