// A whole Debian root: thousands of files and real packages, with dpkg-query as the judge. Uses the root that other
// tests keep in the cache; where it is absent, it is made once.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openFileSource } from '../../src/disk/bytes/byte-source.ts';
import { openExt4 } from '../../src/disk/ext4/reader.ts';
import { runTool } from '../../src/host/process/run-tool.ts';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import { requireTool } from '../../src/host/tools/tools.ts';
import type { Inventory } from '../../src/inventory/model/inventory.ts';
import { readRootInventory } from '../../src/inventory/read-inventory.ts';
import { cycloneDxSbom } from '../../src/inventory/sbom/cyclonedx.ts';
import { spdxSbom } from '../../src/inventory/sbom/spdx.ts';
import { debianRoot } from '../support/debian-root.ts';
import { debugfs } from '../support/ext4-image.ts';
import { sampleSubject } from '../support/inventory.ts';
import { sbomJudge } from '../support/sbom-judge.ts';

let folder: string;
let path: string;
let inventory: Inventory;

beforeAll(async () => {
  await fetchTools({ group: 'disk' });
  folder = await mkdtemp(join(tmpdir(), 'imago-debian-'));
  path = join(folder, 'root');
  await runTool(await requireTool('mke2fs'), ['-q', '-F', '-t', 'ext4', '-d', '-', path, '600M'], {
    stdin: createReadStream(await debianRoot()),
  });
  const source = await openFileSource(path);
  const reader = await openExt4(source);
  inventory = await readRootInventory(reader, { diskBytes: source.size });
  await source.close();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('a whole Debian root', () => {
  it('has the packages that dpkg-query lists, and their files have owners', async () => {
    const fields = ['Package', 'Version', 'Architecture', 'source:Package', 'source:Version'];
    await mkdir(join(folder, 'dpkg'));
    await debugfs(path, `rdump /var/lib/dpkg ${join(folder, 'dpkg')}`);
    const listed = await runTool('dpkg-query', [
      `--admindir=${join(folder, 'dpkg', 'dpkg')}`,
      '--show',
      `--showformat=${fields.map((name) => `\${${name}}`).join(' ')}\\n`,
    ]);
    const ours = inventory.packages.map((item) =>
      [item.name, item.version, item.architecture, item.source, item.sourceVersion].join(' '),
    );
    expect(ours.sort()).toEqual(listed.stdout.toString().trim().split('\n').sort());
    const owned = inventory.files.filter((file) => file.path.startsWith('/usr/bin/') && file.type === 'file');
    expect(owned.filter((file) => file.package === undefined).map((file) => file.path)).toEqual([]);
  });

  it('has the content that the archive has', async () => {
    const bash = inventory.files.find((file) => file.path === '/usr/bin/bash');
    const { stdout } = await runTool('tar', ['-xOf', await debianRoot(), './usr/bin/bash']);
    expect(bash?.sha256).toBe(createHash('sha256').update(stdout).digest('hex'));
    expect(inventory.kernel.version).toMatch(/^6\.\d+/);
    expect(inventory.system).toContain('trixie');
    expect(inventory.units.find(({ name }) => name === 'getty@tty1.service')?.state).toBe('enabled');
  });

  it('has SBOMs that the official schemas accept', async () => {
    const judge = await sbomJudge();
    expect(judge.cycloneDx(cycloneDxSbom(inventory, sampleSubject))).toEqual([]);
    expect(judge.spdx(spdxSbom(inventory, sampleSubject))).toEqual([]);
  });
});
