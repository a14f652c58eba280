// Runs Azure's own command line against the emulator: Debian's package, unpacked in the cache of tools.
import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunningEmulator } from '../../../src/azure-emulator/server.ts';
import { fetchTools } from '../../../src/host/tools/fetch-tools.ts';

export interface AzResult {
  readonly exitCode: number;
  /** What it printed, read as JSON; `undefined` if it printed nothing. */
  readonly output: unknown;
  readonly errors: string;
}

export type Az = (line: string, ...words: readonly string[]) => Promise<AzResult>;

/** Signs in at the emulator. Each word of a line is one argument; those with spaces are given apart. */
export async function signIn(emulator: RunningEmulator, folder: string): Promise<Az> {
  const { folder: tools } = await fetchTools({ group: 'azure' });
  await mkdir(join(folder, 'config'), { recursive: true });
  const root = join(tools, 'root');
  const env = {
    ...{ HOME: folder, PATH: '/usr/bin:/bin', LANG: 'C.UTF-8', AZURE_CONFIG_DIR: join(folder, 'config') },
    ...{ PYTHONHOME: join(root, 'usr'), PYTHONPATH: join(root, 'usr/lib/python3/dist-packages') },
    ...{ REQUESTS_CA_BUNDLE: emulator.ca, AZURE_CORE_INSTANCE_DISCOVERY: 'false', PYTHONWARNINGS: 'ignore' },
    ...{
      AZURE_CORE_COLLECT_TELEMETRY: 'false',
      AZURE_CORE_CHECK_FOR_UPDATES: 'no',
      AZURE_CORE_NO_COLOR: '1',
    },
  };
  const az: Az = (line, ...words) =>
    new Promise((resolve) => {
      const args = ['-m', 'azure.cli', ...line.split(' '), ...words, '-o', 'json'];
      execFile(
        join(tools, 'bin', 'python3.13'),
        args,
        { env, maxBuffer: 2 ** 26 },
        (error, stdout, stderr) => {
          const output: unknown = stdout.trim() === '' ? undefined : JSON.parse(stdout);
          resolve({ exitCode: error === null ? 0 : Number(error.code ?? -1), output, errors: stderr });
        },
      );
    });
  const { url } = emulator;
  const endpoints = [
    'resource-manager',
    'active-directory',
    'active-directory-resource-id',
    'active-directory-graph-resource-id',
    'management',
    'gallery',
  ];
  const names = endpoints.flatMap((name) => [`--endpoint-${name}`, url]);
  const alias = [
    '--endpoint-vm-image-alias-doc',
    `${url}/aliases.json`,
    '--suffix-storage-endpoint',
    'emulator.test',
  ];
  for (const [line, ...words] of [
    ['cloud register -n Emulator', ...names, ...alias],
    ['cloud set -n Emulator'],
    ['login --service-principal -u app -p secret --tenant 11111111-1111-1111-1111-111111111111'],
  ] as const) {
    const { exitCode, errors } = await az(line, ...words);
    if (exitCode !== 0) throw new Error(`az ${line}: ${errors}`);
  }
  return az;
}
