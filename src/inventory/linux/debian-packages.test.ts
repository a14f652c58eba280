import { describe, expect, it } from 'vitest';
import { parseStatus } from './debian-packages.ts';

const status = `Package: libc6
Status: install ok installed
Installed-Size: 13000
Maintainer: Some One <some@example.com>
Architecture: amd64
Source: glibc (2.41-1)
Version: 2.41-12
Conffiles:
 /etc/ld.so.conf.d/x86_64-linux-gnu.conf d4e7a7b88a71b5ffd9e2644e71a0cfab
Description: GNU C Library
 Contains: a colon.

Package: gone
Status: deinstall ok config-files
Version: 1

Package: half
Status: install ok half-installed
Version: 1
`;

describe("dpkg's database", () => {
  it('names what is installed, with its source, and leaves out the rest', () => {
    expect(parseStatus(status)).toEqual([
      {
        name: 'libc6',
        version: '2.41-12',
        architecture: 'amd64',
        source: 'glibc',
        sourceVersion: '2.41-1',
        maintainer: 'Some One <some@example.com>',
        homepage: '',
        installedBytes: 13_000 * 1024,
      },
    ]);
  });

  it('is refused when a package has no name or no version, rather than left out silently', () => {
    expect(() => parseStatus('Status: install ok installed\nVersion: 1\n')).toThrow(/without a name/);
    expect(() => parseStatus('Package: a\nStatus: install ok installed\n')).toThrow(/no version/);
    expect(() => parseStatus('Package: a\ngarbage\n')).toThrow(/garbage/);
  });

  it('may be empty', () => {
    expect(parseStatus('')).toEqual([]);
  });
});
