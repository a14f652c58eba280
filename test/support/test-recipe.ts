// A small recipe with one of everything that a build does: packages, files, a folder, an archive, a container image,
// settings. Its layers of packages are shared by all tests through a cache outside of the tree.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { tarFile, writeTar } from '../../src/disk/tar/writer.ts';
import { cacheFolders } from '../../src/host/tools/tools.ts';
import { writeContainerImage } from './container-image.ts';

export const greeting = 'GREETING from a container';

/** The cache that tests of builds share: the first run on a machine fills it. */
export function sharedBuildCache(): string {
  return join(cacheFolders()[0] ?? '', 'test', 'build');
}

const report = [
  'echo GREETED $(ctr -n k8s.io run --rm example.test/hello:1 hello sh -c "cat /etc/greeting; ls /etc/gone")',
  'ctr -n k8s.io images list -q | sed "s/^/IMAGE /"',
  'systemctl --failed --no-legend --plain | sed "s/^/FAILED-UNIT /"',
  'cut -d= -f1 /etc/imago-release | tr "\\n" " " | sed "s/^/RELEASE /"',
  'ls /boot | grep initrd | sed "s/^/UNUSED-INITRD /"',
  'echo REPORT-END',
];

/** Tells what it finds on the console, once all else is up. */
const reportUnit = `[Unit]
After=containerd.service
Requires=containerd.service
[Service]
Type=oneshot
ExecStart=/usr/local/sbin/report
StandardOutput=tty
TTYPath=/dev/console
[Install]
WantedBy=multi-user.target
`;

/** Writes the recipe and what it names into the folder, and returns its file. */
export async function writeTestRecipe(folder: string): Promise<string> {
  await mkdir(join(folder, 'tree'), { recursive: true });
  await writeFile(join(folder, 'tool'), '#!/bin/sh\necho tool 1.0.0\n');
  await writeFile(join(folder, 'tree', 'note'), 'a file of a folder\n');
  for (const version of ['1.0.0', '1.1.0']) {
    await writeFile(join(folder, `engine-${version}`), `#!/bin/sh\necho engine ${version}\n`);
  }
  await writeFile(join(folder, 'report.service'), reportUnit);
  await writeFile(join(folder, 'report'), `#!/bin/sh\n${report.join('\n')}\n`);
  await writeFile(
    join(folder, 'parts.tar'),
    await buffer(writeTar([tarFile('parts-1/bin/part', '#!/bin/sh\n', { mode: 0o755, mtime: 5 })])),
  );
  await writeContainerImage(join(folder, 'hello'), { tag: '1', greeting });
  const file = join(folder, 'imago.yaml');
  await writeFile(file, recipeText);
  return file;
}

export const recipeText = `name: tested
numbering: semver
disk:
  size: 1536MiB
packages:
  - containerd
  - runc
components:
  - name: tool
    version: 1.0.0
    from:
      file: tool
    to: /usr/local/bin/tool
  - name: parts
    version: "1"
    from:
      tar: parts.tar
      strip: 1
    to: /usr/local
  - name: tree
    version: "1"
    from:
      folder: tree
    to: /usr/share/tree
  - name: engine
    versions:
      - 1.0.0
      - 1.1.0
    from:
      file: engine-\${version}
    to: /usr/lib/engine/\${version}/engine
    pick:
      link: /usr/bin/engine
      default: 1.1.0
  - name: report
    version: "1"
    from:
      file: report
    to: /usr/local/sbin/report
    unit:
      file: report.service
images:
  - name: example.test/hello:1
    from:
      layout: hello
    pinned: true
settings:
  # A busy machine that emulates another takes its time.
  kernelArguments:
    - systemd.default_device_timeout_sec=600
  sysctl:
    net.ipv4.ip_forward: 1
  users:
    - name: operator
      uid: 1234
`;
