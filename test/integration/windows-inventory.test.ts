// What is read from Windows disks that were made from nothing, compared with what dissect reads from the same disk.
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openFileSource } from '../../src/disk/bytes/byte-source.ts';
import { convertDisk } from '../../src/disk/convert/convert.ts';
import type { Lock } from '../../src/domain/lock/lock.ts';
import { diffInventories } from '../../src/inventory/diff/diff.ts';
import { formatDiff } from '../../src/inventory/diff/format.ts';
import type { Inventory } from '../../src/inventory/model/inventory.ts';
import { privateInputs, redactInventory } from '../../src/inventory/model/redact.ts';
import { makeReleaseNotes } from '../../src/inventory/notes/release-notes.ts';
import { renderReleaseNotes } from '../../src/inventory/notes/render.ts';
import { readInventory } from '../../src/inventory/read-inventory.ts';
import { cycloneDxSbom } from '../../src/inventory/sbom/cyclonedx.ts';
import { spdxSbom } from '../../src/inventory/sbom/spdx.ts';
import { sampleInput, sampleLock, sampleSubject } from '../support/inventory.ts';
import { sbomJudge } from '../support/sbom-judge.ts';
import {
  installedUpdate,
  makeWindowsDisk,
  mergeChanges,
  type WindowsChange,
} from '../support/windows-disk.ts';
import { queryTarget } from '../support/windows-judge.ts';

const run = promisify(execFile);
let folder: string;
let made = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-windows-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function disk(change: WindowsChange = {}): Promise<string> {
  made += 1;
  return makeWindowsDisk(folder, `disk-${made}`, change);
}

async function read(path: string, lock?: Lock): Promise<Inventory> {
  const source = await openFileSource(path);
  try {
    return await readInventory(source, { lock });
  } finally {
    await source.close();
  }
}

const subject = { ...sampleSubject, createdAt: sampleSubject.created };

describe('a Windows disk', () => {
  it('has the version, host, services and exclusions that dissect reads', async () => {
    const path = await disk();
    const { windows, system } = await read(path);
    expect(system).toBe('Windows Server 2022 Datacenter (Server Core) 20348.2113');
    const named = await queryTarget(path, 'version,hostname');
    expect(named.join()).toContain('Windows Server 2022 Datacenter (NT 10.0) 20348.2113');
    expect(named.join()).toContain('WIN-SEALED');
    const told = await queryTarget(path, 'services,defender.exclusions');
    const judged = told.filter((line) => line.startsWith('<windows/service'));
    for (const { name } of [...(windows?.services ?? []), ...(windows?.drivers ?? [])]) {
      expect(judged.some((line) => line.includes(`name='${name}'`))).toBe(true);
    }
    expect(judged).toHaveLength(3);
    expect(told.some((line) => line.includes('exclusion') && line.includes('containerd'))).toBe(true);
    expect(windows?.exclusions).toEqual(['Paths C:\\ProgramData\\containerd']);
  });

  it('lists updates by the KB of their manifests, features, capabilities and the seal', async () => {
    const { windows } = await read(await disk());
    expect(windows?.patches.map(({ kb, kind, state }) => [kb, kind, state])).toEqual([
      ['KB5032008', 'dotnet', 'installed'],
      ['KB5032198', 'cumulative', 'installed'],
      ['KB5032310', 'servicing-stack', 'installed'],
    ]);
    expect(windows?.features).toEqual(['Containers', 'Hyper-V']);
    expect(windows?.capabilities).toEqual(['OpenSSH-Server-Package 10.0.20348.1']);
    expect(windows?.seal).toMatchObject({ pending: [], timeZone: 'UTC' });
  });

  it('has notes with everything, and SBOMs that the official schemas accept', async () => {
    const inventory = await read(await disk());
    const judge = await sbomJudge();
    expect(judge.cycloneDx(cycloneDxSbom(inventory, sampleSubject))).toEqual([]);
    expect(judge.spdx(spdxSbom(inventory, sampleSubject))).toEqual([]);
    const text = renderReleaseNotes(makeReleaseNotes({ ...subject, inventory }));
    for (const part of [
      ...[
        '- Build: 20348.2113, ServerDatacenter, 21H2',
        '| KB5032198 |',
        '- Containers',
        '| wuauserv | disabled |',
      ],
      ...['| storahci | boot |', '| Example Agent | 2.1 | Example |', '- OpenSSH-Server-Package'],
      ...[
        '(from HKLM\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Component Based Servicing',
        'NoAutoUpdate',
      ],
    ]) {
      expect(text).toContain(part);
    }
  });

  it('is compared with its lock, and every difference is told', async () => {
    const recipe = {
      os: 'windows',
      method: 'machine',
      windows: {
        features: ['Containers', 'DNS'],
        patches: [
          { kb: 'KB5032198', class: 'B', build: '20348.2113' },
          { kb: 'KB5099999', class: 'out-of-band', kind: 'update' },
        ],
        services: [{ name: 'wuauserv', start: 'manual' }],
        registry: [
          {
            path: 'HKLM\\SYSTEM\\CurrentControlSet\\Services\\hns\\State',
            name: 'EnableCompartmentNamespace',
            type: 'dword',
            value: 1,
          },
          { path: 'HKLM\\SOFTWARE\\Policies\\X', name: 'Y', type: 'dword', value: 1 },
        ],
      },
      components: [
        {
          name: 'kubelet',
          version: '1.34.2',
          from: { url: 'https://example.test' },
          to: 'C:\\k\\1.34.2\\kubelet.exe',
        },
        { name: 'proxy', version: '1', from: { url: 'https://example.test' }, to: 'C:\\k\\proxy.exe' },
      ],
    } as const;
    const lock = sampleLock(recipe as never, [
      sampleInput('patch', 'KB5032198', { version: 'B', sha256: '7'.repeat(64) }),
      sampleInput('binary', 'kubelet', { version: '1.34.2' }),
      sampleInput('binary', 'proxy', { version: '1' }),
    ]);
    const { windows } = await read(await disk(), lock);
    expect(windows?.differences).toEqual([
      'The feature DNS is not installed.',
      'KB5099999 is not installed.',
      'The service wuauserv is disabled, not manual.',
      'HKLM\\SOFTWARE\\Policies\\X\\Y is not set, not 1.',
      'kubelet 1.34.2 has another sha256 than the lock says.',
      'proxy 1 is not on the disk.',
    ]);
    expect(windows?.patches[1]).toMatchObject({ kb: 'KB5032198', class: 'B', sha256: '7'.repeat(64) });
    expect(windows?.cachedFiles).toMatchObject([{ name: 'kubelet', version: '1.34.2', sizeBytes: 7 }]);
  });

  it('of an out-of-band update differs from one of a B update in exactly that', async () => {
    const before = await read(await disk());
    const after = await read(
      await disk(
        mergeChanges(installedUpdate('Package_for_RollupFix', '20348.2159.1.5', 'KB5033118'), { ubr: 2159 }),
      ),
    );
    const { windows } = diffInventories(before, after);
    expect(windows.map(({ name }) => name)).toEqual(['build', 'patch KB5032198', 'patch KB5033118']);
    expect(formatDiff(diffInventories(before, after))).toContain('~ build 20348.2113 → 20348.2159');
  });
});

const account = (hash: Buffer): WindowsChange => {
  const value = Buffer.alloc(0xcc + hash.length);
  value.writeUInt32LE(0, 0xa8);
  value.writeUInt32LE(hash.length, 0xac);
  hash.copy(value, 0xcc);
  return {
    sam: {
      'SAM\\Domains\\Account\\Users\\000001F4': {
        V: { type: 3, bytes: value },
        F: { type: 3, bytes: Buffer.alloc(0x50) },
      },
    },
  };
};
const file = (path: string, content = 'x'): WindowsChange => ({ files: { [path]: content } });
const software = (path: string, values: Record<string, string>): WindowsChange => ({
  software: { [path]: values },
});

describe('each identity or secret', () => {
  const planted: readonly (readonly [string, WindowsChange])[] = [
    [
      'not-sealed',
      software('Microsoft\\Windows\\CurrentVersion\\Setup\\State', { ImageState: 'IMAGE_STATE_COMPLETE' }),
    ],
    ['password', account(Buffer.concat([Buffer.from('01000100', 'hex'), Buffer.alloc(16, 9)]))],
    ['password', account(Buffer.concat([Buffer.from('0100020010000000', 'hex'), Buffer.alloc(48, 9)]))],
    ['autologon', software('Microsoft\\Windows NT\\CurrentVersion\\Winlogon', { DefaultPassword: 'secret' })],
    [
      'update-identity',
      software('Microsoft\\Windows\\CurrentVersion\\WindowsUpdate', { SusClientId: '1-2-3' }),
    ],
    ['certificate', software('Microsoft\\SystemCertificates\\MY\\Certificates\\AB12', { Blob: 'x' })],
    [
      'remote-listener',
      software('Microsoft\\Windows\\CurrentVersion\\WSMAN\\Listener\\*+HTTPS', { Port: '5986' }),
    ],
    [
      'profile',
      software('Microsoft\\Windows NT\\CurrentVersion\\ProfileList\\S-1-5-21-1-2-3-1001', { Sid: 'x' }),
    ],
    ['lsa-secret', { security: { 'Policy\\Secrets\\$MACHINE.ACC': { x: 'y' } } }],
    ['cached-logon', { security: { Cache: { NL$1: { type: 3, bytes: Buffer.alloc(8, 1) } } } }],
    ['machine-key', file('ProgramData/Microsoft/Crypto/RSA/MachineKeys/abc')],
    ['cloud-agent', file('WindowsAzure/Logs/agent.log')],
    ['cloud-agent', file('Packages/Plugins/RunCommand/script.ps1')],
    ['cloud-agent', file('AzureData/CustomData.bin')],
    ['ssh', file('ProgramData/ssh/ssh_host_ed25519_key.pub')],
    ['ssh', file('Users/packer/.ssh/authorized_keys')],
    ['node-state', file('k/node.kubeconfig')],
    ['history', file('Users/Public/AppData/PSReadLine/ConsoleHost_history.txt')],
    ['memory', file('hiberfil.sys')],
    ['recycle-bin', file('$Recycle.Bin/S-1-5-21/$R123.txt')],
    ['temporary', file('Windows/Temp/install.log')],
    ['key-store', file('k/cert.pfx')],
    [
      'answer-file',
      file(
        'Windows/Panther/unattend.xml',
        '<unattend><AdministratorPassword><Value>x</Value></AdministratorPassword></unattend>',
      ),
    ],
    ['private-key', file('k/key.txt', `-----BEGIN RSA PRIVATE KEY-----\n${'A'.repeat(64)}\n`)],
  ];

  it('planted alone is found, and nothing else; a clean disk has none', async () => {
    const clean = await read(await disk());
    expect(clean.windows?.findings?.filter(({ level }) => level === 'fail')).toEqual([]);
    expect(clean.windows?.findings?.map(({ rule }) => rule)).toEqual(['host-name']);
    for (const [rule, change] of planted) {
      const { windows } = await read(await disk(change));
      const found = windows?.findings?.filter(({ level }) => level === 'fail').map((one) => one.rule);
      expect([rule, found]).toEqual([rule, [rule]]);
    }
  });

  it('an account without a password, and one of newer systems, is none', async () => {
    for (const empty of [
      Buffer.from('01000100', 'hex'),
      Buffer.concat([Buffer.from('0100020000000000', 'hex'), Buffer.alloc(16)]),
    ]) {
      const { windows } = await read(await disk(account(empty)));
      expect(windows?.findings?.some(({ rule }) => rule === 'password')).toBe(false);
    }
  });
});

describe('a private fix', () => {
  it('is named by nothing that is made from the disk: neither its KB, package, manifest nor revision', async () => {
    const secret = 'KB5077777';
    const change = mergeChanges(installedUpdate('Package_for_RollupFix', '20348.9999.1.1', secret), {
      ubr: 9999,
    });
    const lock = sampleLock(
      {
        os: 'windows',
        method: 'machine',
        windows: { patches: [{ kb: secret, class: 'out-of-band', private: true }] },
      } as never,
      [sampleInput('patch', secret, { private: true })],
    );
    const inventory = await read(await disk(change), lock);
    expect(JSON.stringify(inventory)).toMatch(/KB5077777.*9999/s);
    const secrets = privateInputs(lock);
    const shown = redactInventory(inventory, secrets);
    const texts = [
      JSON.stringify(shown),
      JSON.stringify(cycloneDxSbom(shown, sampleSubject)),
      JSON.stringify(spdxSbom(shown, sampleSubject)),
      renderReleaseNotes(makeReleaseNotes({ ...subject, inventory, lock })),
    ];
    for (const text of texts) {
      expect(text).toContain('private-1');
      expect(text).not.toMatch(/KB5077777|20348\.9999|[^0-9]9999[^0-9]/);
    }
    expect(shown.files.length).toBe(inventory.files.length);
  });

  it('whose manifest has another number is hidden by the revision that it brought', async () => {
    const change = mergeChanges(installedUpdate('Package_for_RollupFix', '20348.9999.1.1', 'KB5066666'), {
      ubr: 9999,
    });
    const lock = sampleLock(
      {
        os: 'windows',
        method: 'machine',
        windows: { patches: [{ kb: 'KB5077777', class: 'B', private: true }] },
      } as never,
      [],
    );
    const shown = redactInventory(await read(await disk(change)), privateInputs(lock));
    expect(JSON.stringify(shown)).not.toMatch(/KB5066666|20348\.9999/);
  });
});

describe('imago image inspect', () => {
  async function inspect(...words: readonly string[]) {
    const home = join(folder, 'no-state');
    const result = await run(process.execPath, ['src/cli/main.ts', 'image', 'inspect', ...words], {
      env: { ...process.env, IMAGO_HOME: home, HOME: folder },
      maxBuffer: 64 * 1024 * 1024,
    }).then(
      ({ stdout }) => ({ code: 0, out: stdout, err: '' }),
      (error: { code: number; stdout: string; stderr: string }) => ({
        ...{ code: error.code, out: error.stdout, err: error.stderr },
      }),
    );
    expect(await readdir(home).catch(() => 'nothing')).toBe('nothing');
    return result;
  }

  it('reads raw, VHD, qcow2 and VHDX files alike, and leaves no state', async () => {
    const path = await disk();
    const identity = { uuid: '00000000-0000-4000-8000-000000000001', timestamp: 1_700_000_000 };
    for (const format of ['vhd-fixed', 'vhd-dynamic', 'qcow2'] as const) {
      await convertDisk({ from: path, to: `${path}.${format}`, format, identity, workFolder: folder });
    }
    await run('qemu-img', ['convert', '-f', 'raw', '-O', 'vhdx', path, `${path}.vhdx`]);
    const documents = [];
    for (const name of [
      path,
      ...['vhd-fixed', 'vhd-dynamic', 'qcow2', 'vhdx'].map((format) => `${path}.${format}`),
    ]) {
      const { out, code } = await inspect(name, '--json');
      expect(code).toBe(0);
      const { inventory } = JSON.parse(out) as { inventory: Inventory };
      documents.push({ ...inventory, sizes: { ...inventory.sizes, diskBytes: 0 } });
    }
    expect(new Set(documents.map((document) => JSON.stringify(document))).size).toBe(1);
    const { out } = await inspect(path);
    expect(out).toContain('| KB5032198 |');
    const { out: listed } = await inspect(path, '--json', '--files');
    expect(listed).toContain('"path": "/k/1.34.2/kubelet.exe"');
  });

  it('says what is wrong with a disk that it cannot read', async () => {
    const none = join(folder, 'none');
    await writeFile(none, '');
    await truncate(none, 1024 * 1024);
    expect(await inspect(none)).toMatchObject({ code: 2, err: expect.stringContaining('sfdisk --verify') });
    expect(await inspect(join(folder, 'missing'))).toMatchObject({
      code: 2,
      err: expect.stringContaining('missing'),
    });
  });
});
