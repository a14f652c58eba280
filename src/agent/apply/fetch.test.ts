import { describe, expect, it } from 'vitest';
import { memorySystem } from '../../../test/support/agent/memory-system.ts';
import type { NodeConfig } from '../../domain/node-config/schema.ts';
import type { MetadataService } from '../metadata/metadata.ts';
import { createFetcher, createOutside } from './fetch.ts';

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
      installs: ['dpkg --install -- /downloaded'],
    });
  });
});

const bootstrap = { url: 'https://private.example.com/bootstrap', resource: 'api://cluster' };
const service = { token: async () => 'the-token' } as unknown as MetadataService;

it('a fetch trusts the authorities of the config before the system has taken them in', async () => {
  const system = memorySystem({ '/etc/ssl/certs/ca-certificates.crt': 'SYSTEM\n' });
  const seen: { environment?: Readonly<Record<string, string>>; input: string; trust: string | undefined }[] =
    [];
  system.program((_, { environment, input = '' }) => {
    const trust = system.readText(environment?.CURL_CA_BUNDLE ?? '/none');
    seen.push({ ...(environment && { environment }), input, trust });
    return { stdout: 'HTTP/1.1 200 OK\r\nA: b\r\n\r\nkubeconfig' };
  });
  const config = { schemaVersion: 1, trust: [{ name: 'own', certificate: 'OWN\n' }] } as const;
  const outside = createOutside(system, config, service, createFetcher(system, config));
  expect(await outside.bootstrapKubeconfig(bootstrap)).toBe('kubeconfig');
  expect(seen.at(-1)).toMatchObject({ trust: 'SYSTEM\nOWN\n' });
  expect(seen.at(-1)?.input).toContain('Authorization: Bearer the-token');
  expect(system.commands.join()).not.toContain('the-token');

  const plain = { schemaVersion: 1 } as const;
  await createOutside(system, plain, service, createFetcher(system, plain)).bootstrapKubeconfig(bootstrap);
  expect(seen.at(-1)?.trust).toBeUndefined();
});
