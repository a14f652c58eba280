// Fetches components: a file is used only if its sha256 is the one in the config.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { NodeConfig } from '../../domain/node-config/schema.ts';
import type { HostInput, UnpackOptions } from '../../install/host.ts';
import type { Fetcher, UnpackedTree } from '../desired/desired.ts';
import type { Outside } from '../desired/step.ts';
import { request } from '../metadata/http.ts';
import type { MetadataService } from '../metadata/metadata.ts';
import { proxyVariables } from '../steps/network.ts';
import { startForFetch } from '../system/deferred-units.ts';
import { downloadsFolder, fetchTrustPath } from '../system/paths.ts';
import { diskFull, programError } from '../system/program-error.ts';
import { isDiskFullMessage, removeTree, replaceRunFile, type System } from '../system/system.ts';

const downloadDeadlineMs = 600_000;
const tries = 3;
/** The exit code of curl if it cannot write its output. */
const cannotWrite = 23;
const systemTrustPath = '/etc/ssl/certs/ca-certificates.crt';

/** For plans: returns where files would be, and fetches nothing. */
export const planFetcher: Fetcher = {
  file: async ({ sha256 }) => `${downloadsFolder}/${sha256}`,
  archive: async ({ sha256 }) => ({ folder: `${downloadsFolder}/${sha256}.tree`, files: [] }),
};

export const planOutside: Outside = {
  bootstrapKubeconfig: async () => undefined,
  nodeAddress: async () => undefined,
  installPackage: async () => undefined,
};

export function createFetcher(system: System, config: NodeConfig): Fetcher {
  async function file({ name, sha256, source }: HostInput): Promise<string> {
    const path = `${downloadsFolder}/${sha256}`;
    if (system.facts(path) !== undefined && (await digestOf(system, path)) === sha256) return path;
    system.makeFolder(downloadsFolder, { mode: 0o700 });
    await startForFetch(system);
    for (let attempt = 1; ; attempt += 1) {
      system.remove(path);
      const problem = await download(system, source, path, outsideVariables(system, config));
      if (problem === undefined) break;
      system.remove(path);
      if (problem.full) throw diskFull(`There is no space for ${name}: ${problem.said}.`);
      if (attempt === tries) {
        throw new ImagoError(
          'download-failed',
          `${name} could not be fetched from ${source}: ${problem.said}.`,
        );
      }
      await system.sleep(attempt * 2000);
    }
    const found = await digestOf(system, path);
    if (found === sha256) return path;
    system.remove(path);
    throw new ImagoError('input-mismatch', `${name} from ${source} has the sha256 ${found}, not ${sha256}.`);
  }

  async function archive(input: HostInput, { strip = 0, only }: UnpackOptions): Promise<UnpackedTree> {
    const path = await file(input);
    const folder = `${path}.tree`;
    removeTree(system, folder);
    system.makeFolder(folder, { mode: 0o700 });
    const result = await system.run(
      [
        ...['tar', '--extract', '--file', path, '--directory', folder, '--no-same-owner'],
        ...[`--strip-components=${strip}`, ...(only ?? [])],
      ],
      { timeoutMs: downloadDeadlineMs },
    );
    if (result.exitCode === 0) return { folder, files: filesBelow(system, folder) };
    removeTree(system, folder);
    throw programError(`${input.name} could not be unpacked`, result);
  }

  return { file, archive };
}

export function createOutside(
  system: System,
  config: NodeConfig,
  metadata: MetadataService,
  fetcher: Fetcher,
): Outside {
  return {
    async bootstrapKubeconfig({ url, resource, clientId, ca }) {
      const token = await metadata.token(resource, clientId, 60_000);
      await startForFetch(system);
      const answer = await request(system, {
        url,
        headers: { Authorization: `Bearer ${token}` },
        timeoutMs: 30_000,
        environment: outsideVariables(system, config, ca === undefined ? [] : [ca]),
      });
      if (answer.kind === 'answer' && answer.status === 200 && answer.body.trim() !== '') return answer.body;
      const why = answer.kind === 'none' ? answer.why : `status ${answer.status}`;
      throw new ImagoError(
        'download-failed',
        `The bootstrap kubeconfig could not be fetched from ${url}: ${why}.`,
      );
    },
    nodeAddress: () => metadata.address(60_000),
    async installPackage({ component, version, source, sha256 }) {
      if (await isInstalled(system, component, version)) return;
      const path = await fetcher.file({ name: component, version, source, sha256, sizeBytes: 0 });
      // An interrupted run can have left partially installed packages.
      await system.run(['dpkg', '--configure', '-a'], { timeoutMs: downloadDeadlineMs });
      const result = await system.run(['dpkg', '--install', '--', path], {
        timeoutMs: downloadDeadlineMs,
        environment: { DEBIAN_FRONTEND: 'noninteractive' },
      });
      if (result.exitCode !== 0) throw programError(`dpkg could not install ${component}`, result);
    },
  };
}

/**
 * Returns the proxy and trust variables for curl. The trust anchors of the config apply from the first fetch on, although
 * the system uses them only after the apply.
 */
function outsideVariables(
  system: System,
  config: NodeConfig,
  more: readonly string[] = [],
): Readonly<Record<string, string>> {
  const trusted = [...(config.trust ?? []).map(({ certificate }) => certificate), ...more];
  if (trusted.length === 0) return proxyVariables(config);
  const texts = [system.readText(systemTrustPath) ?? '', ...trusted];
  replaceRunFile(system, fetchTrustPath, `${texts.map((text) => text.trim()).join('\n')}\n`, 0o600);
  return { ...proxyVariables(config), CURL_CA_BUNDLE: fetchTrustPath };
}

/** Asks dpkg, because an image has packages without a receipt. */
async function isInstalled(system: System, name: string, version: string): Promise<boolean> {
  const { stdout } = await system.run(['dpkg-query', '--status', '--', name]);
  const lines = stdout.split('\n');
  return lines.includes('Status: install ok installed') && lines.includes(`Version: ${version}`);
}

interface DownloadProblem {
  readonly said: string;
  /** Whether the disk is full. */
  readonly full: boolean;
}

/** Returns `undefined` on success. */
async function download(
  system: System,
  source: string,
  path: string,
  environment: Readonly<Record<string, string>>,
): Promise<DownloadProblem | undefined> {
  const { exitCode, stderr } = await system.run(
    [
      ...['curl', '--silent', '--show-error', '--fail', '--location', '--proto', '=http,https'],
      ...['--connect-timeout', '15', '--speed-limit', '1024', '--speed-time', '60', '--output', path, source],
    ],
    { timeoutMs: downloadDeadlineMs, environment },
  );
  if (exitCode === 0) return undefined;
  const said = /curl: \(\d+\) (.*)/.exec(stderr)?.[1] ?? `curl exited with code ${exitCode}`;
  return { said, full: exitCode === cannotWrite || isDiskFullMessage(stderr) };
}

async function digestOf(system: System, path: string): Promise<string> {
  const { stdout } = await system.run(['sha256sum', '--', path], { timeoutMs: 120_000 });
  return stdout.slice(0, 64);
}

function filesBelow(system: System, folder: string, prefix = ''): readonly string[] {
  return system.list(`${folder}/${prefix}`.replace(/\/$/, '')).flatMap((name) => {
    const path = prefix + name;
    const kind = system.facts(`${folder}/${path}`)?.kind;
    if (kind === 'folder') return filesBelow(system, folder, `${path}/`);
    return kind === 'file' || kind === 'link' ? [path] : [];
  });
}
