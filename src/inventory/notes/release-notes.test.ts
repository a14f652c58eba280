import { describe, expect, it } from 'vitest';
import {
  sampleFile,
  sampleInput,
  sampleInventory,
  sampleLock,
  sampleSubject,
} from '../../../test/support/inventory.ts';
import { privateInputs, redactInventory } from '../model/redact.ts';
import { makeProvenance } from '../provenance.ts';
import { sbomComponents } from '../sbom/components.ts';
import { cycloneDxSbom } from '../sbom/cyclonedx.ts';
import { spdxSbom } from '../sbom/spdx.ts';
import { lockedInventory } from '../windows/inventory.ts';
import { makeReleaseNotes, type ReleaseNotesInput, withMeasures } from './release-notes.ts';
import { renderReleaseNotes } from './render.ts';

const input: ReleaseNotesInput = {
  ...sampleSubject,
  createdAt: '2026-01-01T00:00:00.000Z',
  inventory: sampleInventory(),
  lock: sampleLock(
    {
      budgets: { sizeBytes: 100, bootToReadyMs: 20_000 },
      notes: 'The first one.',
      base: { suite: 'trixie' },
    },
    [
      sampleInput('binary', 'kubelet', { version: '1.34.2', sizeBytes: 50_000_000 }),
      sampleInput('package', 'libc6', { version: '2.41-12', sha256: '1'.repeat(64) }),
      sampleInput('package', 'runc', { version: '1:1.1.15~ds1', sha256: '2'.repeat(64) }),
    ],
  ),
};

describe('release notes', () => {
  it('say what is on the image, with versions, sizes and sha256', () => {
    const text = renderReleaseNotes(makeReleaseNotes(input));
    expect(text).toContain('# node 1.34.2');
    expect(text).toContain('The first one.');
    expect(text).toContain('- Base: debian trixie');
    expect(text).toContain('- Kernel: 6.12.0');
    expect(text).toContain(`| kubelet | 1.34.2 | 47.7 MiB | \`${'f'.repeat(64)}\` |`);
    expect(text).toContain('| registry.example.com/pause:3.10 |');
    expect(text).toContain(`| runc | 1:1.1.15~ds1 | amd64 | 8.6 MiB | \`${'2'.repeat(64)}\` |`);
  });

  it('say no sha256 of a package whose version is not the locked one', () => {
    const text = renderReleaseNotes(makeReleaseNotes(input));
    expect(text).toContain('| libc6 | 2.41-12+deb13u1 | amd64 | 12.4 MiB |  |');
  });

  it('say the base that the disk names when the recipe leaves it to the default, or there is none', () => {
    const inventory = sampleInventory({ release: { BASE: 'debian trixie' } });
    const { lock: _, ...captured } = input;
    expect(makeReleaseNotes({ ...input, lock: sampleLock(), inventory }).base).toBe('debian trixie');
    expect(makeReleaseNotes({ ...captured, inventory }).base).toBe('debian trixie');
    expect(makeReleaseNotes({ ...input, lock: sampleLock() }).base).toBeUndefined();
  });

  it('have a row for each step of the build', () => {
    const timings = [
      { step: 'base', ms: 25_040 },
      { step: 'whole build', ms: 61_000 },
    ];
    const text = renderReleaseNotes(makeReleaseNotes({ ...input, timings }));
    expect(text).toContain('| base | 25.0 |\n| whole build | 61.0 |');
  });

  it('show a budget that is exceeded, and one that was not measured', () => {
    const notes = makeReleaseNotes(input);
    expect(notes.budgets).toMatchObject([{ name: 'size', isKept: false }, { name: 'boot to ready' }]);
    expect(renderReleaseNotes(notes)).toContain('| boot to ready | 20.0 s | not measured |  |');
    expect(makeReleaseNotes({ ...input, bootToReadyMs: 19_000 }).budgets[1]?.isKept).toBe(true);
  });

  it('tell what the tests measured afterwards, and nothing that no budget asks for', () => {
    const notes = makeReleaseNotes(input);
    const slow = withMeasures(notes, { bootToReadyMs: 21_000 });
    expect(renderReleaseNotes(slow)).toContain('| boot to ready | 20.0 s | 21.0 s | **exceeded** |');
    expect(withMeasures(slow, { bootToReadyMs: 19_000 })).toEqual(
      makeReleaseNotes({ ...input, bootToReadyMs: 19_000 }),
    );
    const { lock: _, ...without } = input;
    const free = makeReleaseNotes(without);
    expect(withMeasures(free, { bootToReadyMs: 1 })).toEqual(free);
  });

  it('tell what the recipe made the tests let pass, and nothing of a private program', () => {
    const lock = sampleLock({ expect: { ports: [9100], setuid: ['/opt/tool', '/opt/hidden'] } });
    const inventory = sampleInventory({ files: [sampleFile('/opt/tool')] });
    const text = renderReleaseNotes(makeReleaseNotes({ ...input, lock, inventory }));
    expect(text).toContain(
      '- the port 9100 is open to the network\n- /opt/tool runs with the rights of its owner or group\n',
    );
    expect(text).not.toContain('/opt/hidden');
    expect(renderReleaseNotes(makeReleaseNotes(input))).not.toContain('let pass');
  });

  it('show the difference to the previous version, and the hotfixes that it includes', () => {
    const old = sampleInventory({ packages: sampleInventory().packages.slice(0, 1) });
    const text = renderReleaseNotes(
      makeReleaseNotes({
        ...input,
        previous: { version: '1.34.1', digest: sampleSubject.digest, inventory: old },
        hotfixes: [{ name: 'runc', version: '1.1.15' }],
      }),
    );
    expect(text).toContain('## Changes since 1.34.1');
    expect(text).toContain('+ runc:amd64 1:1.1.15~ds1');
    expect(text).toContain('## Hotfixes that are now on the image\n\n- runc 1.1.15');
  });

  it('cannot be broken out of by a name on the disk', () => {
    const files = [sampleFile('/etc/```\n# Trust me')];
    const notes = makeReleaseNotes({
      ...input,
      inventory: sampleInventory({ files }),
      previous: { version: '1', digest: 'x', inventory: sampleInventory({ files: [] }) },
    });
    expect(renderReleaseNotes(notes)).not.toContain('\n# Trust me');
    expect(renderReleaseNotes(notes)).toContain('````diff');
  });
});

describe('private inputs', () => {
  const lock = sampleLock(
    {
      components: [
        {
          name: 'hushtool',
          version: '7.7.7',
          private: true,
          from: { url: 'https://vault.example.com/hushtool' },
          to: '/opt/hushcorp/bin/hushtool',
          unit: { content: '[Unit]' },
        },
        { name: 'hushpack', from: { package: 'hushpack' }, private: true },
      ],
      images: [{ name: 'vault.example.com/hushimage:1', private: true }],
    },
    [
      sampleInput('binary', 'hushtool', {
        private: true,
        version: '7.7.7',
        source: 'https://vault.example.com/hushtool',
      }),
      sampleInput('package', 'hushpack', { source: 'debian:pool/hushpack.deb' }),
      sampleInput('container-image', 'vault.example.com/hushimage:1', { private: true }),
    ],
  );
  const plain = sampleInventory();
  const inventory = sampleInventory({
    packages: plain.packages.map((item) =>
      item.name === 'runc' ? { ...item, name: 'hushpack', source: 'hushpack' } : item,
    ),
    files: [
      ...plain.files.filter((file) => file.package !== 'runc'),
      sampleFile('/opt', { type: 'directory' }),
      sampleFile('/opt/hushcorp', { type: 'directory' }),
      sampleFile('/opt/hushcorp/bin', { type: 'directory' }),
      sampleFile('/opt/hushcorp/bin/hushtool', { mode: 0o755 }),
      sampleFile('/opt/public'),
      sampleFile('/usr/share/hushpack', { type: 'directory' }),
      sampleFile('/usr/share/hushpack/data', { package: 'hushpack' }),
      sampleFile('/var/lib/dpkg/info/hushpack.list'),
      sampleFile('/usr/lib/imago/components/hushtool.json'),
      sampleFile('/etc/systemd/system/hushtool.service'),
      sampleFile('/etc/systemd/system/multi-user.target.wants/hushtool.service', {
        type: 'symlink',
        link: '/etc/systemd/system/hushtool.service',
      }),
    ],
    units: [
      {
        name: 'hushtool.service',
        state: 'enabled',
        path: '/etc/systemd/system/hushtool.service',
        wantedBy: [],
        dropIns: [],
      },
    ],
    agent: { abilities: ['files'], components: { hushtool: ['7.7.7'] } },
    containerImages: [
      ...plain.containerImages,
      {
        name: 'vault.example.com/hushimage:1',
        digest: `sha256:${'7'.repeat(64)}`,
        sizeBytes: 1,
        platform: '',
        isPinned: false,
      },
    ],
  });

  it('are named in no note, SBOM, difference or provenance', () => {
    const notes = makeReleaseNotes({
      ...input,
      lock,
      inventory,
      previous: { version: '1', digest: 'x', inventory: plain, lock: sampleLock() },
      hotfixes: [{ name: 'hushtool', version: '7.7.7' }],
    });
    const secrets = privateInputs(lock);
    const hidden = redactInventory(inventory, secrets);
    expect(JSON.stringify(hidden)).not.toMatch(/hush|vault|7\.7\.7/);
    expect(hidden.agent).toEqual({ abilities: ['files'], components: {}, hidesComponents: true });
    const components = sbomComponents(lock, hidden, secrets);
    const provenance = makeProvenance({
      image: 'node',
      version: '1',
      lock,
      tool: '0.1.0',
      toolVersions: {},
      operation: 'op',
      startedAt: '2026-01-01T00:00:00Z',
      finishedAt: '2026-01-01T00:01:00Z',
      diskSha256: 'e'.repeat(64),
    });
    const texts = [
      renderReleaseNotes(notes),
      ...[
        notes,
        hidden,
        provenance,
        cycloneDxSbom(hidden, sampleSubject, components),
        spdxSbom(hidden, sampleSubject, components),
      ].map((value) => JSON.stringify(value)),
    ];
    for (const text of texts) expect(text).not.toMatch(/hush|vault|7\.7\.7/);
    expect(notes.restricted).toBe(true);
    expect(texts.join()).toContain('private-1');
  });

  it('stay hidden in a version that was captured from a node that has them, and in the next that has not', () => {
    const captured: ReleaseNotesInput = {
      ...sampleSubject,
      createdAt: input.createdAt,
      inventory,
      ancestors: [lock],
    };
    const next: ReleaseNotesInput = {
      ...input,
      inventory: plain,
      previous: { version: '1', digest: 'x', inventory, lock },
    };
    for (const notes of [makeReleaseNotes(captured), makeReleaseNotes(next)]) {
      expect(JSON.stringify(notes)).not.toMatch(/hush|vault|7\.7\.7/);
    }
    expect(makeReleaseNotes(captured).restricted).toBe(true);
    expect(makeReleaseNotes(next).restricted).toBe(false);
    const marked = { ...plain, release: { RESTRICTED: 'yes' } };
    expect(makeReleaseNotes({ ...next, inventory: marked }).restricted).toBe(true);
  });

  it('leave everything else as it was', () => {
    const paths = redactInventory(inventory, privateInputs(lock)).files.map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(['/opt', '/opt/public', '/etc/hosts', '/private-1/1']));
    expect(paths).toHaveLength(inventory.files.length);
    expect(redactInventory(inventory, [])).toBe(inventory);
  });
});

describe('Windows', () => {
  it('has features, patches in their order, services and cached files in notes and SBOM', () => {
    const lock = sampleLock(
      {
        os: 'windows',
        method: 'machine',
        windows: {
          features: ['Hyper-V', 'Containers'],
          patches: [
            { kb: 'KB2', class: 'B', prerequisites: ['KB1'] },
            { kb: 'KB1', class: 'out-of-band' },
          ],
          services: [{ name: 'sshd', start: 'automatic' }],
          registry: [{ path: 'HKLM:\\Software', name: 'X', type: 'multi-string', value: ['a', 'b'] }],
        },
      },
      [sampleInput('patch', 'KB1'), sampleInput('binary', 'kubelet.exe')],
    );
    const inventory = lockedInventory(lock, { size: 10, extents: [{ offset: 0, length: 5 }] });
    const text = renderReleaseNotes(makeReleaseNotes({ ...input, lock, inventory }));
    expect(text.indexOf('| KB1 |')).toBeLessThan(text.indexOf('| KB2 |'));
    for (const part of ['- Containers', '| sshd | automatic |', '| kubelet.exe |', '| X | a, b |'])
      expect(text).toContain(part);
    expect(JSON.stringify(spdxSbom(inventory, sampleSubject))).toContain('"KB1"');
    expect(JSON.stringify(cycloneDxSbom(inventory, sampleSubject))).toContain('"patch:KB2"');
  });
});
