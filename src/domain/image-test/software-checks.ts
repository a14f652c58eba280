// Checks that a running machine has the software that the image's own SBOM says, and that its package database is
// sound.
import {
  type DiskFile,
  fail,
  hasFile,
  hasUnit,
  lines,
  type MachineCheck,
  pass,
  passWhenNone,
  passWhenSays,
  shellWord,
  whenEnded,
} from './image-check.ts';

/** Programs whose bytes are compared with the SBOM: what the recipe's components put there, not packages. */
const mostPrograms = 20;

export const kubeletUnit = 'kubelet.service';

function programs(files: readonly DiskFile[]) {
  return files
    .filter(
      ({ path, type, mode, package: owner }) =>
        type === 'file' &&
        owner === undefined &&
        /^\/(?:usr\/(?:local\/)?s?bin|opt)\//.test(path) &&
        (mode & 0o111) !== 0,
    )
    .slice(0, mostPrograms);
}

export const softwareChecks: readonly MachineCheck[] = [
  {
    id: 'software-release',
    title: 'the machine says which image it is',
    remedy: 'It runs another disk than the one under test.',
    script: () => '. /etc/imago-release && echo "$IMAGE $LOCK"',
    judge: (answer, { disk }) =>
      disk === undefined
        ? passWhenSays(answer, answer.output.trim() || 'something')
        : passWhenSays(answer, `${disk.release.IMAGE} ${disk.release.LOCK}`),
  },
  {
    id: 'software-packages',
    once: true,
    title: 'the packages are those of the SBOM',
    remedy: 'Something installs or removes packages at the start: put it into the recipe.',
    script: () =>
      `dpkg-query --show --showformat='\${db:Status-Abbrev} \${Package} \${Version} \${Architecture}\\n'`,
    judge: (answer, { disk }) =>
      whenEnded(answer, (said) => {
        const found = new Set(said.flatMap((line) => (line.startsWith('ii ') ? [line.slice(2).trim()] : [])));
        if (disk === undefined) return pass(`${found.size} packages`);
        const wanted = new Set(
          disk.packages.map(({ name, version, architecture }) => `${name} ${version} ${architecture}`),
        );
        const differ = [
          ...[...wanted].filter((one) => !found.has(one)).map((one) => `lacks ${one}`),
          ...[...found].filter((one) => !wanted.has(one)).map((one) => `has ${one} besides`),
        ];
        return passWhenNone(differ, `${found.size} packages`);
      }),
  },
  {
    id: 'software-package-database',
    once: true,
    title: 'the package database is sound',
    remedy: 'Run `dpkg --audit`: a package is half installed.',
    script: () => 'dpkg --audit && dpkg --configure --pending --no-act',
    judge: ({ exitCode, output }) =>
      exitCode === 0 && output.trim() === ''
        ? pass('sound')
        : fail(lines(output)[0] ?? `ended with ${exitCode}`),
  },
  {
    id: 'software-programs',
    once: true,
    title: 'the programs of components are those of the SBOM',
    remedy: 'A program was replaced after the image was sealed.',
    script({ disk }) {
      const paths = programs(disk?.files ?? []).map(({ path }) => shellWord(path));
      return paths.length === 0 ? undefined : `sha256sum ${paths.join(' ')}`;
    },
    judge: (answer, { disk }) =>
      whenEnded(answer, (said) => {
        const found = new Map(
          said.map((line) => {
            const [sha256 = '', path = ''] = line.split(/\s+/);
            return [path, sha256];
          }),
        );
        const wanted = programs(disk?.files ?? []);
        const differ = wanted
          .filter(({ path, sha256 }) => found.get(path) !== sha256)
          .map(({ path }) => path);
        return passWhenNone(differ, `${wanted.length} programs`);
      }),
  },
  {
    id: 'software-kernel',
    title: 'the kernel that runs is the one of the SBOM',
    remedy: 'The machine was started with another kernel.',
    script: () => 'uname -r',
    judge: (answer, { disk }) => passWhenSays(answer, disk?.kernel.version ?? answer.output.trim()),
  },
  {
    id: 'software-kubelet',
    title: 'the kubelet has the version that the image says',
    remedy: 'Put the version that the recipe names on the image.',
    script: ({ disk }) => (hasFile(disk, '/usr/bin/kubelet') ? '/usr/bin/kubelet --version' : undefined),
    judge: (answer, { disk }) => passWhenSays(answer, `Kubernetes v${disk?.release.KUBERNETES ?? '?'}`),
  },
  {
    id: 'software-kubelet-healthy',
    title: 'the kubelet says that it is well',
    remedy:
      'See `journalctl -u kubelet` on a machine that was kept. A node config of your own must ask for it: `kubelet: {}`.',
    script: ({ disk }) =>
      hasUnit(disk, kubeletUnit)
        ? `state=$(systemctl is-active ${kubeletUnit}) || { echo "it is $state"; exit 1; }; curl --silent --show-error --max-time 20 http://127.0.0.1:10248/healthz`
        : undefined,
    judge: (answer) => passWhenSays(answer, 'ok'),
  },
];
