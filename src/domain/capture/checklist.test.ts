import { describe, expect, it } from 'vitest';
import { type ChecklistItem, checklist } from './checklist.ts';
import { checklistExtension, extendChecklist } from './extension.ts';
import { matchChecklist } from './match-checklist.ts';

/** The item that removes each path, in an order in which parents come first. */
function matched(items: readonly ChecklistItem[], paths: readonly string[]): readonly (string | undefined)[] {
  const match = matchChecklist(items);
  return paths.map((path) => {
    const isFolder = path.endsWith('/');
    return match({ path: isFolder ? path.slice(0, -1) : path, type: isFolder ? 'directory' : 'file' })?.id;
  });
}

describe('the checklist', () => {
  it('has one item for each ID, each with its reason', () => {
    expect(new Set(checklist.map(({ id }) => id)).size).toBe(checklist.length);
    expect(checklist.filter(({ reason }) => reason.length < 20)).toEqual([]);
  });

  it('keeps what a clone needs', () => {
    const kept = [
      ...[
        '/etc/',
        '/etc/passwd',
        '/etc/ssh/',
        '/etc/ssh/sshd_config',
        '/etc/fstab',
        '/usr/',
        '/usr/bin/kubelet',
      ],
      ...[
        '/root/',
        '/root/.bashrc',
        '/root/notes',
        '/home/a/',
        '/home/a/.profile',
        '/var/log/',
        '/var/log/apt/',
      ],
      ...['/var/lib/imago/managed.json', '/var/lib/imago/originals/', '/etc/sudoers.d/README'],
      ...['/var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db', '/var/lib/dpkg/status'],
      ...['/var/lib/containerd/io.containerd.content.v1.content/blobs/sha256/', '/tmp/', '/var/lib/cloud/'],
      ...['/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/1/fs/tmp/x', '/lost+found/'],
    ];
    expect(matched(checklist, kept)).toEqual(kept.map(() => undefined));
  });

  it('removes a directory with everything in it', () => {
    expect(
      matched(checklist, ['/var/lib/kubelet/pki/', '/var/lib/kubelet/pki/x/', '/var/lib/kubelet/pki/x/y']),
    ).toEqual(['kubelet-credentials', 'kubelet-credentials', 'kubelet-credentials']);
  });

  it('keeps directories where services need them', () => {
    expect(matched(checklist, ['/var/log/apt/', '/var/log/apt/history.log', '/var/log/journal/id/'])).toEqual(
      [undefined, 'logs', 'journal-folders'],
    );
  });
});

describe('a pattern', () => {
  const item = (remove: string, keep?: string): ChecklistItem[] => [
    { id: 'x', reason: '', remove: [remove], keep: keep === undefined ? undefined : [keep] },
  ];
  const cases: readonly (readonly [string, string, boolean])[] = [
    ['/a/b', '/a/b', true],
    ['/a/b', '/a/bc', false],
    ['/a/*', '/a/.hidden', true],
    ['/a/*', '/a/b/c', false],
    ['/a/**', '/a/b/c', true],
    ['/a/x*y', '/a/x-y', true],
    ['/a/x.y', '/a/x-y', false],
    ['/a/(x)+[y]', '/a/(x)+[y]', true],
    ['/a/*', '/a/line\nbreak', true],
  ];
  it.each(cases)('%s and %j', (pattern, path, isMatch) => {
    expect(matched(item(pattern), [path])).toEqual([isMatch ? 'x' : undefined]);
  });

  it('an exception holds for everything below it', () => {
    expect(matched(item('/a/**', '/a/keep'), ['/a/keep/', '/a/keep/b', '/a/keeper'])).toEqual([
      undefined,
      undefined,
      'x',
    ]);
  });
});

describe('an extension', () => {
  const extension = (remove: string) =>
    checklistExtension.safeParse({ items: [{ id: 'mine', reason: 'Ours.', remove: [remove] }] });

  it('adds items that cannot replace a built-in one', () => {
    const parsed = checklistExtension.parse({
      items: [{ id: 'logs', reason: 'Ours.', remove: ['/opt/app/id'] }],
    });
    const extended = extendChecklist(checklist, parsed);
    expect(extended.slice(0, -1)).toEqual(checklist);
    expect(matched(extended, ['/opt/app/id', '/var/log/x'])).toEqual(['user/logs', 'logs']);
  });

  it.each(['/opt/app/*', '/opt/*/id-*', '/srv/a b/ä'])('accepts %s', (path) => {
    expect(extension(path).success).toBe(true);
  });

  it.each([
    '/',
    '/opt',
    'opt/app',
    '/*/app',
    '/opt/../etc',
    '/opt//app',
    '/opt/a\nb',
    '/o/*a*b*c*d*e',
    '/opt/./a',
  ])('refuses %j', (path) => {
    expect(extension(path).success).toBe(false);
  });

  it('refuses an allowed file without its digest or reason', () => {
    const allow = (entry: object) => checklistExtension.safeParse({ allow: [entry] }).success;
    const sha256 = 'a'.repeat(64);
    expect(allow({ path: '/opt/key.pem', sha256, reason: 'A test key.' })).toBe(true);
    expect(allow({ path: '/opt/key.pem', sha256 })).toBe(false);
    expect(allow({ path: '/opt/key.pem', reason: 'A test key.' })).toBe(false);
  });
});
