// A small apt archive with a key of its own: suites, components, a signed index, and packages that are made here or that
// a lock names and the cache has.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { inputsOf, type Lock } from '../../src/domain/lock/lock.ts';
import { runTool } from '../../src/host/process/run-tool.ts';
import type { FileServer } from './file-server.ts';

export interface ArchiveKey {
  /** The public key, for programs and for people. */
  readonly keyring: string;
  readonly armored: string;
  clearSign(text: string): Promise<Buffer>;
  end(): Promise<void>;
}

export async function archiveKey(name = 'Test archive'): Promise<ArchiveKey> {
  const home = await mkdtemp(join(tmpdir(), 'imago-gpg-'));
  const gpg = async (args: readonly string[], text = '') => {
    const input = [Buffer.from(text)];
    async function* stdin() {
      yield* input;
    }
    const words = [
      '--homedir',
      home,
      '--batch',
      '--quiet',
      '--pinentry-mode',
      'loopback',
      '--passphrase',
      '',
    ];
    return (await runTool('gpg', [...words, ...args], { stdin: stdin() })).stdout;
  };
  await gpg(['--quick-generate-key', `${name} <archive@example.test>`, 'rsa3072', 'sign', 'never']);
  const [keyring, armored] = [join(home, 'archive.gpg'), join(home, 'archive.asc')];
  await writeFile(keyring, await gpg(['--export']));
  await writeFile(armored, await gpg(['--armor', '--export']));
  await chmod(home, 0o755);
  return {
    keyring,
    armored,
    clearSign: (text) => gpg(['--digest-algo', 'SHA256', '--clear-sign'], text),
    async end() {
      await runTool('gpgconf', ['--homedir', home, '--kill', 'all']).catch(() => undefined);
      await rm(home, { recursive: true, force: true });
    },
  };
}

export interface PackageFile {
  readonly path: string;
  /** As in an index. */
  readonly record: string;
  readonly sha256: string;
  /** In the archive. */
  readonly file: string;
}

export interface MadePackage {
  readonly name: string;
  readonly version?: string;
  /** The body of its maintainer script, which runs when it is set up. */
  readonly postinst?: string;
  /** Other fields of its control file. */
  readonly fields?: string;
}

/** A package made here. */
export async function makePackage(folder: string, made: MadePackage): Promise<PackageFile> {
  const { name, version = '1.0-1', postinst = 'exit 0', fields = '' } = made;
  const tree = await mkdtemp(join(folder, `${name}-`));
  await mkdir(join(tree, 'DEBIAN'));
  await chmod(tree, 0o755);
  await chmod(join(tree, 'DEBIAN'), 0o755);
  const control = `Package: ${name}\nVersion: ${version}\nArchitecture: all\nMaintainer: Test <test@example.test>\n${fields}Description: made by a test\n`;
  await writeFile(join(tree, 'DEBIAN', 'control'), control);
  await writeFile(join(tree, 'DEBIAN', 'postinst'), `#!/bin/sh\n${postinst}\n`, { mode: 0o755 });
  await chmod(join(tree, 'DEBIAN', 'postinst'), 0o755);
  const path = join(folder, `${name}_${version}_all.deb`);
  await runTool('dpkg-deb', ['--build', '--root-owner-group', '-Znone', tree, path]);
  return describePackage(path, `pool/main/${name}_${version}_all.deb`);
}

/** Those of a lock, from the folder of inputs that has them. */
export async function lockedPackages(lock: Lock, inputs: string): Promise<readonly PackageFile[]> {
  return Promise.all(
    inputsOf(lock, 'package').map(({ name, sha256, source }) =>
      describePackage(
        join(inputs, sha256.slice(0, 2), sha256),
        source.replace(/^[a-z-]+:/, '') || `pool/main/${name}.deb`,
      ),
    ),
  );
}

async function describePackage(path: string, file: string): Promise<PackageFile> {
  const { stdout } = await runTool('dpkg-deb', ['--field', path]);
  const sha256 = createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
  const { size } = await stat(path);
  const record = `${stdout.toString('utf8').trimEnd()}\nFilename: ${file}\nSize: ${size}\nSHA256: ${sha256}\n`;
  return { path, record, sha256, file };
}

/** By suite and component. */
export type ArchiveContent = Readonly<Record<string, Readonly<Record<string, readonly PackageFile[]>>>>;

export interface ArchiveOptions {
  readonly validUntil?: Date;
}

/** Puts the archive on the server, in place of what it had there before. */
export async function serveArchive(
  server: FileServer,
  key: Pick<ArchiveKey, 'clearSign'>,
  content: ArchiveContent,
  { validUntil }: ArchiveOptions = {},
): Promise<void> {
  for (const [suite, components] of Object.entries(content)) {
    const table: string[] = [];
    for (const [component, packages] of Object.entries(components)) {
      const text = packages.map(({ record }) => record).join('\n');
      for (const [ending, bytes] of [
        ['', Buffer.from(text)],
        ['.gz', gzipSync(text)],
      ] as const) {
        const path = `${component}/binary-amd64/Packages${ending}`;
        const sha256 = createHash('sha256').update(bytes).digest('hex');
        table.push(` ${sha256} ${bytes.length} ${path}`);
        server.files.set(`/dists/${suite}/${path}`, bytes);
        server.files.set(`/dists/${suite}/${component}/binary-amd64/by-hash/SHA256/${sha256}`, bytes);
      }
      for (const { path, file } of packages) {
        const { size } = await stat(path);
        server.files.set(`/${file.split('/').map(encodeURIComponent).join('/')}`, (_, response) => {
          response.writeHead(200, { 'content-length': size });
          createReadStream(path).pipe(response);
        });
      }
    }
    const release = [
      'Origin: Test',
      `Suite: ${suite}`,
      `Codename: ${suite.replace(/-(?:updates|security)$/, '')}`,
      `Date: ${new Date().toUTCString()}`,
      ...(validUntil === undefined ? [] : [`Valid-Until: ${validUntil.toUTCString()}`]),
      'Acquire-By-Hash: yes',
      'Architectures: amd64',
      `Components: ${Object.keys(components).join(' ')}`,
      'SHA256:',
      ...table,
      '',
    ].join('\n');
    server.files.set(`/dists/${suite}/InRelease`, await key.clearSign(release));
  }
}
