// The verbs of images and keys as a user types them, on a small disk, judged by the tools that others use.
import { existsSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runTool } from '../../src/host/process/run-tool.ts';
import { requireTool } from '../../src/host/tools/tools.ts';
import { assembleSample } from '../support/assemble-disk.ts';
import { cabinet } from '../support/cabinet.ts';
import { judge, startRegistry, type TestRegistry } from '../support/docker-registry.ts';
import { createImago, type Imago } from '../support/imago.ts';
import { sbomJudge } from '../support/sbom-judge.ts';
import { patience } from '../support/speed.ts';
import { tinyDisk } from '../support/tiny-disk.ts';
import { until } from '../support/until.ts';

interface Made {
  readonly image: string;
  readonly version: string;
  readonly digest: string;
  readonly reused: boolean;
}

interface Key {
  readonly id: string;
  readonly publicKey: string;
  readonly signs: boolean;
}

let imago: Imago;
let other: Imago;
let registry: TestRegistry;
let raw = '';
let made: Made;

beforeAll(async () => {
  [imago, other, registry] = await Promise.all([createImago(), createImago(), startRegistry()]);
  await mkdir(join(imago.folder, 'disk'));
  raw = (await assembleSample(join(imago.folder, 'disk'))).path;
});

afterAll(async () => {
  await Promise.all([imago?.end(), other?.end()]);
  await registry?.[Symbol.asyncDispose]();
});

function at(name: string): string {
  return join(imago.folder, name);
}

async function same(format: string, file: string): Promise<void> {
  await runTool(await requireTool('qemu-img'), ['compare', '-f', 'raw', '-F', format, raw, file]);
}

describe('a disk that others made', () => {
  test('becomes a candidate with notes, and leaves no upload behind', async () => {
    made = await imago.json<Made>(['image', 'import', raw, '--name', 'sample']);
    expect(made).toMatchObject({ image: 'sample', version: '1.0.0', reused: false });
    const shown = await imago.json<{ state: string; origin: object }>(['image', 'show', 'sample']);
    expect(shown).toMatchObject({ state: 'candidate', origin: { kind: 'imported', from: 'disk.raw' } });
    const notes = await imago.run(['image', 'notes', 'sample']);
    expect(notes.out).toMatch(/^# sample 1\.0\.0/);
    const { out } = await imago.run(['image', 'notes', 'sample', '--json']);
    expect(out).toMatch(/^\{\n {2}"format": 1,\n/);
    expect(JSON.parse(out)).toMatchObject({ digest: made.digest });
    expect(await readdir(join(imago.home, 'work', 'uploads'))).toEqual([]);
  });

  test('has SBOMs that the official schemas accept', async () => {
    const { cycloneDx, spdx } = await sbomJudge();
    expect(cycloneDx(await imago.json(['image', 'sbom', 'sample']))).toEqual([]);
    await imago.json(['image', 'sbom', 'sample', '--format', 'spdx', '--file', at('sbom.json')]);
    expect(spdx(JSON.parse(await readFile(at('sbom.json'), 'utf8')))).toEqual([]);
  });

  test.each([
    ['vhd', 'vpc'],
    ['vhd-dynamic', 'vpc'],
    ['raw', 'raw'],
    ['qcow2', 'qcow2'],
  ])('comes out as %s with every byte, and goes in again as the same version', async (format, driver) => {
    const file = at(`out.${format}`);
    await imago.json(['image', 'export', 'sample', file, '--format', format]);
    await same(driver, file);
    const { size, blocks, uid } = await stat(file);
    expect(uid).toBe(process.getuid?.());
    if (format === 'vhd') expect((size - 512) % 2 ** 20).toBe(0);
    expect(blocks * 512).toBeLessThan(64 * 2 ** 20);
    const again = await imago.json<Made>(['image', 'import', file, '--name', 'sample']);
    expect(again).toMatchObject({ version: made.version, digest: made.digest, reused: true });
  });

  test('has a file system that e2fsck finds nothing wrong with', async () => {
    const { stdout } = await runTool(await requireTool('sfdisk'), ['--json', at('out.raw')]);
    const { partitiontable } = JSON.parse(stdout.toString()) as {
      partitiontable: { partitions: readonly { start: number; size: number }[] };
    };
    const root = partitiontable.partitions.at(-1);
    const offset = (root?.start ?? 0) * 512;
    await runTool(await requireTool('e2fsck'), ['-fn', `${at('out.raw')}?offset=${offset}`]);
  });

  test('differs in nothing from itself under another name', async () => {
    await imago.json(['image', 'import', at('out.vhd'), '--name', 'twin', '--version', '7.8.9']);
    const diff = await imago.json<{ same: boolean; before: string; after: string }>([
      'image',
      'diff',
      'sample',
      'twin:7.8.9',
    ]);
    expect(diff).toMatchObject({ same: true, before: 'sample:1.0.0', after: 'twin:7.8.9' });
  });
});

describe('keys', () => {
  let first: Key;

  test('without one, nothing can be signed, and a demand for a signature fails', async () => {
    expect((await imago.run(['image', 'sign', 'sample'])).code).toBe(3);
    const checked = await imago.run(['image', 'verify', 'sample', '--require-signature']);
    expect(checked).toMatchObject({ code: expect.toSatisfy((code: number) => code !== 0) });
    expect(checked.err).toMatch(/no valid signature/);
  });

  test('a dry run makes none; one that is made signs, and its private part is for its owner alone', async () => {
    await imago.run(['keys', 'create', '--dry-run']);
    expect((await imago.json<{ items: Key[] }>(['keys', 'list'])).items).toEqual([]);
    first = await imago.json<Key>(['keys', 'create']);
    expect((await stat(join(imago.home, 'keys', `${first.id}.pem`))).mode & 0o777).toBe(0o600);
    await imago.json(['image', 'sign', 'sample']);
    const report = await imago.json<{ signatures: { key: string }[] }>([
      'image',
      'verify',
      'sample',
      '--require-signature',
    ]);
    expect(report.signatures.map(({ key }) => key)).toEqual([first.id]);
    expect((await imago.run(['keys', 'show'])).out).toBe(first.publicKey);
  });

  test('after a rotation what the old key signed still counts; after its revocation nothing does', async () => {
    await new Promise((done) => setTimeout(done, 1100));
    const second = await imago.json<Key>(['keys', 'create']);
    await imago.json(['image', 'verify', 'sample', '--require-signature']);
    const asked = await imago.run(['keys', 'revoke', first.id, '--reason', 'it leaked']);
    expect(asked.code).toBe(4);
    await imago.json(['keys', 'revoke', first.id, '--reason', 'it leaked', '--yes']);
    expect(existsSync(join(imago.home, 'keys', `${first.id}.pem`))).toBe(false);
    expect((await imago.run(['image', 'verify', 'sample', '--require-signature'])).code).not.toBe(0);
    await imago.json(['image', 'sign', 'sample']);
    const signed = await imago.json<{ signatures: { key: string }[] }>(['image', 'verify', 'sample']);
    expect(signed.signatures.map(({ key }) => key)).toEqual([second.id]);
    const shown = await imago.json<{ signatures: object[] }>(['image', 'show', 'sample']);
    expect(shown.signatures).toMatchObject([
      { key: first.id, counts: false, problem: 'its key was revoked: it leaked' },
      { key: second.id, counts: true },
    ]);
    const { out } = await imago.run(['image', 'show', 'sample']);
    expect(out).toMatch(new RegExp(`^✗ signed by key ${first.id}.*: not valid, .*it leaked$`, 'm'));
    expect(out).toMatch(new RegExp(`^✓ signed by key ${second.id}`, 'm'));
    const { items } = await imago.json<{ items: Key[] }>(['keys', 'list']);
    expect(items.map(({ id, signs }) => [id, signs])).toEqual([
      [first.id, false],
      [second.id, true],
    ]);
    expect((await imago.run(['keys', 'revoke', 'ffffffffffffffff', '--reason', 'x', '--yes'])).code).toBe(3);
  });
});

describe('copies in a registry', () => {
  const place = () => `${registry.host}/images/sample`;

  test('the size is told beforehand, and a dry run sends nothing', async () => {
    const plan = await imago.json<{ plan: string[] }>([
      ...['image', 'push', 'sample:1.0.0', place(), '--dry-run'],
    ]);
    expect(plan.plan[0]).toMatch(/^Send [\d.]+ [KM]iB of [\d.]+ [KM]iB to /);
    const missing = await fetch(`http://${place().replace('/', '/v2/')}/manifests/1.0.0`);
    expect(missing.status).toBe(404);
  });

  test('skopeo reads it, cosign accepts its signature, and a second push sends nothing', async () => {
    const pushed = await imago.json<{ to: string; bytes: number }>([
      'image',
      'push',
      'sample:1.0.0',
      place(),
    ]);
    expect(pushed.to).toBe(`${place()}:1.0.0`);
    const again = await imago.json<{ bytes: number }>(['image', 'push', 'sample:1.0.0', place()]);
    expect(again.bytes).toBe(0);
    const skopeo = await judge('skopeo');
    const target = `docker://${pushed.to}`;
    const { stdout } = await runTool(skopeo, ['inspect', '--raw', '--tls-verify=false', target]);
    expect(JSON.parse(stdout.toString())).toMatchObject({ artifactType: 'application/vnd.imago.disk.v1' });
    await writeFile(at('imago.pub'), (await imago.run(['keys', 'show'])).out);
    const cosign = await requireTool('cosign');
    const words = ['verify', '--key', at('imago.pub'), '--insecure-ignore-tlog', '--allow-http-registry'];
    await runTool(cosign, [...words, pushed.to], { env: { HOME: imago.folder } });
  });

  test('oras finds and pulls the notes and SBOMs that were pushed along', async () => {
    const oras = await requireTool('oras');
    const listed = await runTool(oras, ['discover', '--plain-http', '--format', 'json', `${place()}:1.0.0`]);
    const { manifests } = JSON.parse(listed.stdout.toString()) as {
      manifests: readonly { digest: string; artifactType: string }[];
    };
    const pulled = at('pulled');
    for (const type of ['vnd.imago.release-notes.v1', 'vnd.cyclonedx', 'spdx']) {
      const found = manifests.find(({ artifactType }) => artifactType.includes(type));
      expect(found, type).toBeDefined();
      await runTool(oras, ['pull', '--plain-http', '-o', pulled, `${place()}@${found?.digest}`]);
    }
    const { out } = await imago.run(['image', 'notes', 'sample']);
    expect(await readFile(join(pulled, 'sample-1.0.0.notes.md'), 'utf8')).toBe(out);
    await imago.json(['image', 'sbom', 'sample', '--file', at('attached.json')]);
    expect(await readFile(join(pulled, 'sample-1.0.0.cdx.json'))).toEqual(
      await readFile(at('attached.json')),
    );
  });

  test('another place pulls it under its own number, and pulling again receives next to nothing', async () => {
    const from = `${place()}:1.0.0`;
    const refused = await other.run(['image', 'pull', from]);
    expect(refused).toMatchObject({
      code: 4,
      err: expect.stringMatching(/no valid signature[\s\S]*--allow-unsigned/),
    });
    expect((await other.json<{ items: [] }>(['image', 'list'])).items).toEqual([]);
    expect(await readdir(join(other.home, 'store', 'blobs', 'sha256'))).toEqual([]);
    const pulled = await other.json<Made & { signedBy: string[] }>([
      ...['image', 'pull', from, '--allow-unsigned'],
    ]);
    const { image, version, digest } = made;
    expect(pulled).toMatchObject({ image, version, digest, reused: false, signedBy: [] });
    expect(await other.json(['image', 'pull', from, '--allow-unsigned'])).toMatchObject({
      version: '1.0.0',
      reused: true,
      bytes: 0,
    });
    const file = join(other.folder, 'disk.raw');
    await other.json(['image', 'export', 'sample', file, '--format', 'raw']);
    await same('raw', file);
    expect((await other.run(['image', 'notes', 'sample'])).out).toMatch(/^# sample 1\.0\.0/);
  });

  test('its signature counts where its key is trusted, and no longer where it is forgotten', async () => {
    const { id } = await imago.json<Key>(['keys', 'show']);
    const list = at('keys.json');
    await writeFile(list, (await imago.run(['keys', 'list', '--json'])).out);
    await other.json(['keys', 'trust', list, '--owner', 'farm', '--dry-run']);
    expect((await other.json<{ items: [] }>(['keys', 'list'])).items).toEqual([]);
    const trusted = await other.json<{ items: Key[] }>(['keys', 'trust', list, '--owner', 'farm']);
    expect(trusted.items).toMatchObject([
      { owner: 'farm', signs: false, revoked: 'it leaked' },
      { id, owner: 'farm', signs: false },
    ]);
    const pull = ['image', 'pull', `${place()}:1.0.0`];
    expect(await other.json(pull)).toMatchObject({ reused: true, signedBy: [id] });
    const renamed = await other.run([...pull, '--name', 'impostor']);
    expect(renamed.err).toContain('it was made for sample, not for impostor');
    expect(renamed.code).toBe(4);
    const verify = ['image', 'verify', 'sample', '--require-signature'];
    expect(await other.json(verify)).toMatchObject({ signatures: [{ key: id, owner: 'farm' }] });
    expect((await other.run(['image', 'sign', 'sample'])).code).toBe(3);
    expect((await other.run(['keys', 'untrust', id])).code).toBe(4);
    await other.json(['keys', 'untrust', id, '--yes']);
    expect(await other.run(verify)).toMatchObject({
      code: 4,
      err: expect.stringMatching(/no key that is trusted here made it.*imago keys trust/s),
    });
  });

  test('a flipped bit is named, and mended from the registry', async () => {
    const blobs = join(imago.home, 'store', 'blobs', 'sha256');
    const { layers } = JSON.parse(
      await readFile(join(blobs, made.digest.replace('sha256:', '')), 'utf8'),
    ) as { layers: readonly { digest: string; mediaType: string }[] };
    const pack = layers.find(({ mediaType }) => mediaType.includes('pack'))?.digest ?? '';
    await flipBit(join(blobs, pack.replace('sha256:', '')), 1000);
    const looked = await imago.run(['image', 'verify', 'sample', '--no-repair', '--json']);
    expect(looked.code).toBe(1);
    expect(JSON.parse(looked.out)).toMatchObject({ error: { code: 'store-corrupt' } });
    expect(looked.out).toContain(pack.slice(7, 19));
    const exported = await imago.run(['image', 'export', 'sample', at('damaged.raw'), '--format', 'raw']);
    expect(exported.code).not.toBe(0);
    expect((await readdir(imago.folder)).filter((name) => name.startsWith('damaged'))).toEqual([]);
    const healed = await imago.json<{ healed: string[] }>([
      'image',
      'verify',
      'sample',
      '--registry',
      place(),
    ]);
    expect(healed.healed).toHaveLength(1);
    expect((await imago.json<{ found: string[] }>(['image', 'verify', 'sample'])).found).toEqual([]);
  });
});

async function flipBit(path: string, position: number): Promise<void> {
  const file = await open(path, 'r+');
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, position);
  byte[0] = (byte[0] ?? 0) ^ 1;
  await file.write(byte, 0, 1, position);
  await file.close();
}

describe('a disk of Windows', () => {
  const text = (start: string, more = '') => `name: windows
numbering: semver
os: windows
method: machine
base: {image: windows-server-2022-core}
kubernetes: 1.34.2
components:
  - {name: kubelet, version: "\${kubernetes}", from: {file: kubelet.exe}, to: 'C:\\k\\kubelet.exe'}
windows:
  features: [Containers]
  patches:
    - {kb: KB5000002, class: B, file: patch.msu, prerequisites: [KB5000001]}
    - {kb: KB5000001, class: out-of-band, kind: servicing-stack, file: patch.msu}
${more}  services: [{name: wuauserv, start: ${start}}]
  registry: [{path: 'HKLM\\SYSTEM\\X', name: Y, type: dword, value: 1}]
`;
  async function take(name: string, recipe: string, seed: number): Promise<Made> {
    await imago.writeFile('kubelet.exe', 'kubelet');
    await writeFile(at('patch.msu'), cabinet(['KB5000001.cab', 'KB5000002.cab', 'KB5000077.cab']));
    await imago.writeFile('windows.yaml', recipe);
    await imago.json(['recipe', 'lock', 'windows.yaml', '--provider', 'local']);
    await writeFile(at('windows.raw'), tinyDisk(seed));
    return imago.json<Made>(['image', 'import', at('windows.raw'), '--name', name, '--lock', 'windows.lock']);
  }

  test('has notes, SBOMs and differences by the lock that it was built from', async () => {
    const before = await take('windows', text('disabled'), 1);
    const after = await take('windows', text('manual'), 2);
    const { cycloneDx, spdx } = await sbomJudge();
    expect(cycloneDx(await imago.json(['image', 'sbom', 'windows']))).toEqual([]);
    expect(spdx(await imago.json(['image', 'sbom', 'windows', '--format', 'spdx']))).toEqual([]);
    const { out } = await imago.run(['image', 'notes', 'windows']);
    expect(out).toMatch(/as its lock says; the disk has no Windows to read/);
    expect(out).toMatch(/\| KB5000001 \| out-of-band \|.*\| KB5000002 \| B \|/s);
    expect(out).toMatch(new RegExp(`## Changes since ${before.version}`));
    const diff = await imago.run(['image', 'diff', `windows:${before.version}`, `windows:${after.version}`]);
    expect(diff.out).toMatch(/~ service wuauserv disabled → manual/);
    const provenance = await imago.run(['image', 'provenance', 'windows']);
    expect(provenance).toMatchObject({ code: 3, err: expect.stringMatching(/no provenance/) });
  });

  test('with a private patch is restricted, does not name it, and goes to no registry', async () => {
    const secret = '    - {kb: KB5000077, class: preview, kind: update, file: patch.msu, private: true}\n';
    const { version } = await take('windows-private', text('disabled', secret), 3);
    expect(await imago.json(['image', 'show', 'windows-private'])).toMatchObject({ restricted: true });
    for (const record of [['notes'], ['sbom'], ['sbom', '--format', 'spdx']]) {
      const { out } = await imago.run([
        'image',
        ...record.slice(0, 1),
        'windows-private',
        ...record.slice(1),
      ]);
      expect(out).toContain('private-1');
      expect(out).not.toContain('KB5000077');
    }
    const published = at('dry.vhd');
    const dry = await imago.json<{ plan: string[] }>(['image', 'export', 'windows', published, '--dry-run']);
    expect(dry.plan[0]).toMatch(/dry\.vhd as vhd: the disk of windows:[\d.]+, 1 MiB/);
    expect(existsSync(published)).toBe(false);
    const words = ['image', 'push', `windows-private:${version}`, `${registry.host}/images/secret`];
    expect(await imago.run(words)).toMatchObject({ code: 4, err: expect.stringMatching(/private inputs/) });
  });

  test('taken in before without its lock gets its notes by it; a lock of Linux is refused', async () => {
    await writeFile(at('bare.raw'), tinyDisk(4));
    const words = ['image', 'import', at('bare.raw'), '--name', 'bare', '--os', 'windows'];
    expect(await imago.json(words)).toMatchObject({ unread: expect.any(String) });
    expect((await imago.run(['image', 'notes', 'bare'])).code).toBe(3);
    await take('other', text('disabled'), 5);
    expect(await imago.json([...words, '--lock', 'windows.lock'])).toMatchObject({ reused: true });
    expect((await imago.run(['image', 'notes', 'bare'])).out).toMatch(/^# bare 1\.0\.0/);
    const linux = [
      'image',
      'import',
      at('bare.raw'),
      '--name',
      'y',
      '--os',
      'linux',
      '--lock',
      'windows.lock',
    ];
    expect(await imago.run(linux)).toMatchObject({ code: 2, err: expect.stringMatching(/disk of Windows/) });
  });

  test('with a lock that cannot be used is refused before a byte of it is sent', async () => {
    const { version } = await take('locked', text('disabled'), 6);
    const lock = await readFile(at('windows.lock'), 'utf8');
    await writeFile(at('edited.lock'), lock.replace('start: disabled', 'start: manual'));
    await writeFile(at('other.lock'), 'name: not a lock\n');
    const sent = async () => {
      const { items } = await imago.json<{ items: { what: string }[] }>(['audit', '--limit', '500']);
      return items.filter(({ what }) => what === 'uploadDisk').length;
    };
    const before = await sent();
    expect(before).toBeGreaterThan(0);
    const words = ['image', 'import', at('windows.raw'), '--name', 'locked'];
    for (const [more, says] of [
      [['--lock', 'edited.lock'], /edited by hand/],
      [['--lock', 'edited.lock', '--dry-run'], /edited by hand/],
      [['--lock', 'other.lock'], /no digest/],
      [['--lock', 'none.lock'], /File none\.lock not found/],
      [['--lock', 'windows.lock', '--os', 'linux'], /disk of Windows/],
      [['--lock', 'windows.lock', '--kubernetes', '1.33.1'], /1\.34\.2/],
    ] as const) {
      const refused = await imago.run([...words, ...more]);
      expect(refused).toMatchObject({ code: 2, err: expect.stringMatching(says) });
    }
    const { plan } = await imago.json<{ plan: string[] }>([
      ...[...words, '--lock', 'windows.lock', '--dry-run'],
    ]);
    expect(plan).toEqual([
      expect.stringMatching(/^Send 1 MiB of .*windows\.raw, a raw disk, to the daemon\.$/),
      'Store the disk of windows.raw as a candidate of locked.',
      expect.stringMatching(/^Describe it by the lock of windows: \d+ inputs\.$/),
    ]);
    expect(await sent()).toBe(before);
    const { items } = await imago.json<{ items: object[] }>(['image', 'list', 'locked']);
    expect(items).toMatchObject([{ version }]);
  });
});

describe('an interrupted command', () => {
  test('leaves a whole file or none, and nothing beside it', async () => {
    const { child, finished } = imago.start(['image', 'export', 'sample', at('cut.raw'), '--format', 'raw']);
    const begun = async () => (await readdir(imago.folder)).some((name) => name.startsWith('cut.raw'));
    await until('the export has begun', async () => child.exitCode !== null || begun());
    child.kill('SIGINT');
    const { code } = await finished;
    const left = (await readdir(imago.folder)).filter((name) => name.startsWith('cut.raw'));
    expect(left).toEqual(code === 0 ? ['cut.raw'] : []);
  });
});

describe('bad input', () => {
  test.each([
    [['image', 'import', 'nothing.vhd', '--name', 'x'], 2, /File nothing\.vhd not found/],
    [['image', 'import', '.', '--name', 'x'], 2, /not a file/],
    [['image', 'import', 'note.txt', '--name', 'x'], 2, /too short|partition table/],
    [['image', 'import', 'zeros.raw', '--name', 'x'], 2, /partition table/],
    [['image', 'import', 'zeros.raw', '--name', 'x', '--dry-run'], 2, /partition table/],
    [
      ['image', 'import', 'small.raw', '--name', 'x', '--version', '1', '--dry-run'],
      2,
      /not a version number/,
    ],
    [['image', 'import', 'small.raw', '--name', 'No Good'], 2, /name/i],
    [['image', 'import', 'small.raw'], 2, /--name/],
    [['image', 'export', 'sample', 'note.txt'], 4, /already exists/],
    [['image', 'export', 'sample', 'no/such/folder.vhd'], 2, /Cannot write/],
    [['image', 'export', 'sample', 'disk.vmdk'], 2, /not a known disk format/],
    [['image', 'export', 'sample', 'x.img', '--format', 'vmdk'], 2, /one of vhd/],
    [['image', 'export', 'nothing', 'x.vhd'], 3, /nothing/],
    [['image', 'push', 'sample', '127.0.0.1:1/x'], 2, /The newest is `sample:1\.0\.0`/],
    [['image', 'publish', 'nothing'], 3, /no image nothing/],
    [['image', 'push', 'sample:1.0.0', 'no-host'], 2, /does not name a repository/],
    [['image', 'push', 'sample:1.0.0', '127.0.0.1:1/x'], 5, /Nothing listens at 127\.0\.0\.1:1/],
    [['image', 'pull', '127.0.0.1:1/x'], 2, /neither tag nor digest/],
    [['image', 'publish', 'sample:1.0.0', '--region', 'a b'], 2, /--region/],
    [['image', 'provenance', 'sample'], 3, /no provenance/],
    [['image', 'diff', 'sample', 'sample:9.9.9'], 3, /9\.9\.9/],
    [['keys', 'revoke', 'x'], 2, /--reason/],
    [['keys', 'trust', 'note.txt', '--owner', 'x'], 2, /no public key/],
    [['keys', 'trust', 'note.txt'], 2, /--owner/],
    [['keys', 'untrust', 'ffffffffffffffff', '--yes'], 3, /no key ffff/],
  ])('%j is refused with a reason', { timeout: patience(60_000) }, async (words, code, says) => {
    await writeFile(at('note.txt'), 'not a disk');
    await writeFile(at('zeros.raw'), Buffer.alloc(4096));
    await writeFile(at('small.raw'), Buffer.alloc(4096, 1));
    const finished = await imago.run(words);
    expect(finished.err).toMatch(says);
    expect(finished.code).toBe(code);
  });

  test('a tag that the registry does not have is not found, and nothing is listed', async () => {
    const { code } = await imago.run(['image', 'pull', `${registry.host}/images/none:1`, '--name', 'none']);
    expect(code).toBe(3);
    expect((await imago.run(['image', 'list', 'none'])).code).toBe(3);
  });

  test('a number that was used for another disk is refused', async () => {
    await rename(at('out.raw'), at('changed.raw'));
    await flipBit(at('changed.raw'), 200 * 2 ** 20);
    const words = ['image', 'import', at('changed.raw'), '--name', 'sample', '--version', '1.0.0'];
    expect(await imago.run(words)).toMatchObject({ code: 4, err: expect.stringMatching(/used before/) });
  });

  test('a version of the simulation has no disk here', async () => {
    const recipe = 'name: simulated\ncomponents:\n  - name: runc\n    version: 1.1.15\n';
    const path = await imago.writeFile('simulated.yaml', recipe);
    await imago.json(['build', path, '--provider', 'sim']);
    const refused = await imago.run(['image', 'notes', 'simulated']);
    expect(refused).toMatchObject({ code: 3, err: expect.stringMatching(/not in the local store/) });
  });
});
