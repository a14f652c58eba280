// What changes between builds, and what does not: layers are made anew only when something of theirs changed, a
// hotfix moves one thing, the versions of a matrix share the rest, and what is behind is told by name.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readAgentBundle } from '../../src/build/layers/agent-layer.ts';
import { planLayers } from '../../src/build/layers/plan.ts';
import { readLockFile, writeLockFile } from '../../src/build/lock/lock-file.ts';
import { ImagoError } from '../../src/domain/error/imago-error.ts';
import { inputChanges } from '../../src/domain/lock/changes.ts';
import { type Lock, makeLock } from '../../src/domain/lock/lock.ts';
import { diffInventories } from '../../src/inventory/diff/diff.ts';
import { unintendedChanges } from '../../src/inventory/diff/hotfix-proof.ts';
import type { Inventory } from '../../src/inventory/model/inventory.ts';
import {
  type BuildFixture,
  type BuiltDisk,
  buildFixture,
  call,
  firstBuildMs,
  quiet,
} from '../support/build-fixture.ts';
import { type FileServer, startFileServer } from '../support/file-server.ts';
import { recipeText } from '../support/test-recipe.ts';

let fixture: BuildFixture;
let server: FileServer;
let shipped: Lock;
let built: BuiltDisk;
let inventory: Inventory;

/** The test recipe with a tool that comes from an address and knows where newer ones are. */
function fetched(): string {
  return recipeText.replace(
    '      file: tool\n    to: /usr/local/bin/tool\n',
    [
      `      url: ${server.address}/tool-\${version}\n    to: /usr/local/bin/tool`,
      `    updates:\n      page: ${server.address}/releases\n      pattern: tool-([0-9.]+)\n`,
    ].join('\n'),
  );
}

beforeAll(async () => {
  fixture = await buildFixture();
  server = await startFileServer();
  for (const version of ['1.0.0', '1.0.1']) server.files.set(`/tool-${version}`, `tool ${version}`);
  server.files.set('/releases', 'tool-1.0.0 tool-1.0.1 tool-1.1.0 tool-2.0.0');
  shipped = await fixture.lockText(fetched());
  built = await fixture.build(shipped);
  inventory = await fixture.inventory(built.digest);
}, firstBuildMs);
afterAll(async () => {
  await server?.close();
  await fixture?.end();
});

it('only the layer of what changed, and the last one, are made anew', () => {
  expect(built.made.filter((name) => !['inputs', 'disk', 'seal'].includes(name)).sort()).toEqual([
    'component tool',
    'configuration',
  ]);
  expect(built.reused).toContain('base');
  expect(built.reused).toContain('packages containerd, runc');
});

it('the same lock gives the same version back and builds nothing', async () => {
  const again = await fixture.build(shipped);
  expect(again).toMatchObject({ digest: built.digest, made: [], reused: [] });
  expect(built.timings?.map(({ step }) => step)).toEqual(built.made);
  expect(again.timings).toEqual(built.timings);
});

it('the disk has what the recipe says: files, links, units, users, settings, container images', () => {
  const file = (path: string) => inventory.files.find((one) => one.path === path);
  expect(file('/usr/local/bin/tool')).toMatchObject({ mode: 0o755, uid: 0, size: 'tool 1.0.0'.length });
  expect(file('/usr/local/bin/part')).toMatchObject({ mode: 0o755 });
  expect(file('/usr/share/tree/note')).toMatchObject({ mode: 0o644 });
  expect(inventory.units.find(({ name }) => name === 'report.service')?.state).toBe('enabled');
  expect(inventory.settings.sysctl['net.ipv4.ip_forward']).toBe('1');
  expect(inventory.settings.users.find(({ name }) => name === 'operator')?.uid).toBe(1234);
  expect(inventory.containerImages.filter(({ isPinned }) => isPinned).map(({ name }) => name)).toContain(
    'example.test/hello:1',
  );
  expect(inventory.release.IMAGE).toBe('tested');
  expect(inventory.packages.map(({ name }) => name)).toContain('runc');
});

it('nothing that belongs to one machine or one moment is on the disk', () => {
  const paths = inventory.files.map(({ path }) => path);
  const unwanted =
    /^\/(?:etc\/ssh\/ssh_host_|var\/lib\/dbus\/machine-id|boot\/initrd|var\/log\/.*\.log|imago-inputs)/;
  expect(paths.filter((path) => unwanted.test(path))).toEqual([]);
  expect(inventory.files.find(({ path }) => path === '/etc/machine-id')?.size).toBe(0);
  expect(inventory.files.filter(({ mtime }) => mtime > shipped.epoch)).toEqual([]);
});

it('several versions stand side by side, and the link shows the default', () => {
  const engine = (version: string) => `/usr/lib/engine/${version}/engine`;
  const paths = inventory.files.map(({ path }) => path);
  expect(paths).toEqual(expect.arrayContaining([engine('1.0.0'), engine('1.1.0')]));
  const link = inventory.files.find(({ path }) => path === '/usr/bin/engine')?.link ?? '';
  expect(link.endsWith('engine/1.1.0/engine')).toBe(true);
});

it('why-rebuild names the layers that are missing and the input that changed, before and after', async () => {
  const builder = fixture.builder();
  const settled = await builder.tools.whyRebuild(shipped);
  expect(settled.every(({ state, changes }) => state === 'hit' && changes.length === 0)).toBe(true);
  const text = fetched()
    .replace('ip_forward: 1', 'ip_forward: 0')
    .replace('tool\n    version: 1.0.0', 'tool\n    version: 1.0.1');
  const verdicts = await builder.tools.whyRebuild(await fixture.lockText(text, builder));
  const missing = verdicts.filter(({ state }) => state === 'miss');
  expect(missing.map(({ name }) => name).sort()).toEqual(['component tool', 'configuration']);
  const changes = missing.flatMap((verdict) => verdict.changes);
  expect(changes).toContainEqual({ input: 'settings.sysctl.net.ipv4.ip_forward', before: '1', after: '0' });
  expect(changes.map(({ input }) => input)).toContain('content.1.0.1');
});

it('a hotfix changes one input of a shipped lock, and the disks differ in nothing else', async () => {
  const builder = fixture.builder();
  const fixed = await builder.tools.hotfix(shipped, ['tool=1.0.1'], quiet, call);
  expect(inputChanges(shipped, fixed).map(({ name }) => name)).toEqual(['tool']);
  const { digest } = await fixture.build(fixed, builder);
  const diff = diffInventories(inventory, await fixture.inventory(digest));
  expect(diff.files.map(({ name }) => name)).toContain('/usr/local/bin/tool');
  const places = ['/usr/local/bin/tool', '/usr/lib/imago/components', '/var/lib/imago/components'];
  expect(unintendedChanges(diff, { places })).toEqual([]);
});

it('a hotfix of what the lock does not have names what is near', async () => {
  const fixing = fixture.builder().tools.hotfix(shipped, ['tol=1.0.1'], quiet, call);
  await expect(fixing).rejects.toMatchObject({
    code: 'input-invalid',
    hint: expect.stringContaining('tool'),
  });
});

it('a hotfix with a sha256 refuses other content', async () => {
  const set = `tool=1.0.1@sha256:${'0'.repeat(64)}`;
  const fixing = fixture.builder().tools.hotfix(shipped, [set], quiet, call);
  await expect(fixing).rejects.toMatchObject({ code: 'input-mismatch' });
});

it('outdated lists a component by its page and a package by the index, within what was allowed', async () => {
  const old = shipped.inputs.map((input) =>
    input.kind === 'package' && input.name === 'runc' ? { ...input, version: '1.0.0-1' } : input,
  );
  const { behind, unknown } = await fixture
    .builder()
    .tools.outdated(makeLock(shipped.recipe, old, shipped), call);
  expect(behind).toContainEqual({
    kind: 'binary',
    name: 'tool',
    current: '1.0.0',
    newest: '1.0.1',
    named: true,
  });
  expect(behind).toContainEqual(
    expect.objectContaining({ kind: 'package', name: 'runc', current: '1.0.0-1' }),
  );
  expect(unknown).toEqual([]);
});

it('the versions of a matrix share every layer but those of what differs, and one lock file', async () => {
  const text = recipeText
    .replace('numbering: semver', 'numbering: kubernetes-build\nmatrix:\n  kubernetes: [1.0.0, 1.1.0]')
    .replace(
      '  - name: tool\n    version: 1.0.0\n    from:\n      file: tool',
      `  - name: tool\n    version: \${kubernetes}\n    from:\n      file: engine-\${version}`,
    );
  const builder = fixture.builder();
  const locks = [
    await fixture.lockText(text, builder, '1.0.0'),
    await fixture.lockText(text, builder, '1.1.0'),
  ];
  const [one, two] = locks.map((lock) => new Map(planLayers(lock).map(({ name, key }) => [name, key])));
  const differing = [...(one ?? [])].filter(([name, key]) => two?.get(name) !== key).map(([name]) => name);
  expect(differing).toEqual(['component tool', 'configuration']);
  const { kubernetes: _, ...rest } = locks[0]?.recipe ?? shipped.recipe;
  const file = writeLockFile({ ...rest, matrix: { kubernetes: ['1.0.0', '1.1.0'] } }, locks);
  expect(readLockFile(file, 'imago.lock').locks).toEqual(locks);
  expect(file.split('\n').filter((line) => line.includes('kind: package, name: runc')).length).toBe(1);
});

it('a lock file that was edited by hand is refused', () => {
  const file = writeLockFile(shipped.recipe, [shipped]);
  const edited = file.replace(/sha256: [0-9a-f]{4}/, 'sha256: beef');
  expect(edited).not.toBe(file);
  expect(() => readLockFile(edited, 'imago.lock')).toThrow(
    expect.objectContaining({ code: 'lock-invalid', message: expect.stringContaining('edited') }),
  );
});

it('a lock that another digest is claimed for is not built', async () => {
  const request = { lock: shipped as never, lockDigest: `sha256:${'0'.repeat(64)}` };
  const building = fixture.builder().build(request, quiet, call);
  await expect(building).rejects.toMatchObject({ code: 'lock-invalid' });
});

it('the agent is on the image with its units enabled; another agent is another lock', async () => {
  const folder = join(fixture.folder, 'agent');
  await mkdir(join(folder, 'usr/lib/systemd/system'), { recursive: true });
  await mkdir(join(folder, 'usr/bin'), { recursive: true });
  await writeFile(join(folder, 'usr/bin/imago-agent'), '#!/bin/sh\n', { mode: 0o755 });
  const unit = '[Service]\nExecStart=/usr/bin/imago-agent\n[Install]\nWantedBy=multi-user.target\n';
  await writeFile(join(folder, 'usr/lib/systemd/system/imago-agent.service'), unit);
  const agent = await readAgentBundle(folder, '1.2.3');
  const builder = fixture.builder({ agent });
  const lock = await fixture.lockText(fetched(), builder);
  expect(inputChanges(shipped, lock).map(({ name }) => name)).toEqual(['imago-agent']);
  const { digest, made } = await fixture.build(lock, builder);
  expect(made).not.toContain('component tool');
  const found = await fixture.inventory(digest);
  expect(found.units.find(({ name }) => name === 'imago-agent.service')).toMatchObject({
    state: 'enabled',
    wantedBy: ['multi-user.target'],
  });
  expect(found.files.find(({ path }) => path === '/usr/bin/imago-agent')?.mode).toBe(0o755);
});

it('without a folder for it there is no agent, and a lock that names one says that it is gone', async () => {
  expect(await readAgentBundle(join(fixture.folder, 'nothing'), '1')).toBeUndefined();
  const agent = { version: '9', archive: Buffer.alloc(1024) };
  const lock = await fixture.lockText(fetched(), fixture.builder({ agent }));
  const input = lock.inputs.find(({ name }) => name === 'imago-agent');
  await rm(join(fixture.cache, 'content', input?.sha256.slice(0, 2) ?? '', input?.sha256 ?? ''));
  const failure = await fixture.build(lock).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ImagoError);
  expect(failure).toMatchObject({ code: 'input-missing', message: expect.stringContaining('imago-agent') });
});
