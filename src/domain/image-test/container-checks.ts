// Checks that the container runtime works with nothing but what is on the image: no registry, no import.
import {
  fail,
  hasFile,
  hasUnit,
  lines,
  type MachineCheck,
  type MachineFacts,
  pass,
  passWhenEnds,
  passWhenNone,
  shellWord,
  whenEnded,
} from './image-check.ts';

const pluginFolders = ['/usr/lib/cni', '/opt/cni/bin'];

function pluginFolder({ disk }: MachineFacts): string | undefined {
  return pluginFolders.find(
    (folder) => hasFile(disk, `${folder}/bridge`) && hasFile(disk, `${folder}/host-local`),
  );
}

function hasRuntime({ disk }: MachineFacts): boolean {
  return hasUnit(disk, 'containerd.service');
}

/** One that is pinned is what pods stand on, and needs no arguments. */
function imageToRun({ disk }: MachineFacts): string | undefined {
  const images = disk?.containerImages ?? [];
  return (images.find(({ isPinned }) => isPinned === true) ?? images[0])?.name;
}

/** By its own entry point: one that ends by itself must end with 0, one that stays must stay. */
function runScript(name: string): string {
  return [
    'id="imago-check-$$"; seen=$(mktemp -d) || exit 1',
    `{ ctr --namespace k8s.io run --rm ${shellWord(name)} "$id" >"$seen/said" 2>&1; echo $? >"$seen/code"; } &`,
    'seconds=0; up=0',
    'while [ ! -s "$seen/code" ] && [ "$up" -lt 3 ] && [ "$seconds" -lt 60 ]; do',
    '  sleep 1; seconds=$((seconds + 1))',
    '  ctr --namespace k8s.io tasks list | grep -q "^$id .*RUNNING" && up=$((up + 1))',
    'done',
    'code=$(cat "$seen/code" 2>/dev/null)',
    'said=$(tail -n 1 "$seen/said"); [ -z "$said" ] || said=": $said"',
    '[ -n "$code" ] || ctr --namespace k8s.io tasks kill --signal SIGKILL "$id" >/dev/null 2>&1',
    'wait; rm -rf "$seen"',
    '[ -z "$code" ] || { echo "ended with $code$said"; exit "$code"; }',
    '[ "$up" -ge 3 ] && echo runs || { echo "not up after $seconds s"; exit 1; }',
  ].join('\n');
}

/** Its pipe ends with the code of its last command: the runtime is asked before. */
const wholeScript = `list=$(ctr --namespace k8s.io images check) || { echo "$list"; exit 1; }
printf '%s\\n' "$list" | awk 'NR > 1 { print $1, $4, $NF }'`;

export const containerChecks: readonly MachineCheck[] = [
  {
    id: 'runtime-answers',
    title: 'the container runtime answers',
    remedy: 'See `journalctl -u containerd` on a machine that was kept.',
    script: (facts) => (hasRuntime(facts) ? 'ctr version' : undefined),
    judge: (answer) => passWhenEnds(answer, 'answers'),
  },
  {
    id: 'runtime-images',
    title: 'the container images are those of the SBOM',
    remedy: 'Something pulls or removes images at the start: put it into the recipe.',
    script: (facts) =>
      hasRuntime(facts)
        ? `list=$(ctr --namespace k8s.io images list) || { echo "$list"; exit 1; }; printf '%s\\n' "$list" | awk 'NR > 1 { print $1, $3 }'`
        : undefined,
    judge: (answer, { disk }) =>
      whenEnded(answer, (said) => {
        const wanted = disk?.containerImages ?? [];
        const digests = new Set(wanted.map(({ digest }) => digest));
        const missing = wanted.filter(({ name, digest }) => !said.includes(`${name} ${digest}`));
        // The runtime itself names an image by its digests too.
        const besides = said.filter((line) => !digests.has(line.split(' ')[1] ?? ''));
        const differ = [
          ...missing.map(({ name }) => `lacks ${name}`),
          ...besides.map((line) => `has ${line.split(' ')[0]} besides`),
        ];
        return passWhenNone(differ, `${wanted.length} images`);
      }),
  },
  {
    id: 'runtime-content',
    title: 'the container images are whole and unpacked',
    remedy: 'Build the version again: its container store is incomplete.',
    script: (facts) =>
      hasRuntime(facts) && facts.disk !== undefined && facts.disk.containerImages.length > 0
        ? wholeScript
        : undefined,
    judge: (answer, { disk }) =>
      whenEnded(answer, (said) => {
        const names = (disk?.containerImages ?? []).map(({ name }) => name);
        return passWhenNone(
          names.filter((name) => !said.includes(`${name} complete true`)),
          'all',
        );
      }),
  },
  {
    id: 'runtime-runs',
    once: true,
    timeoutMs: 180_000,
    title: 'a container of the image itself runs offline',
    remedy:
      'Run it by hand with `ctr` on a machine that was kept. The first pinned image is tried, else the first of all.',
    script(facts) {
      const name = imageToRun(facts);
      return hasRuntime(facts) && name !== undefined ? runScript(name) : undefined;
    },
    judge: (answer) =>
      whenEnded(answer, (said) => {
        const end = said.at(-1) ?? 'no answer';
        return end === 'runs' || end.startsWith('ended with 0') ? pass(end) : fail(end);
      }),
  },
  {
    id: 'network-plugins',
    title: 'the network plugins give a container an address',
    remedy: 'Run the plugin by hand with the variables of CNI on a machine that was kept.',
    script(facts) {
      const folder = pluginFolder(facts);
      if (folder === undefined) return undefined;
      const config = JSON.stringify({
        cniVersion: '1.0.0',
        name: 'imago-check',
        type: 'bridge',
        bridge: 'imagocheck0',
        ipam: { type: 'host-local', ranges: [[{ subnet: '192.0.2.0/28' }]], dataDir: '/run/imago-check' },
      });
      return [
        'ip netns add imago-check',
        `call() { echo ${shellWord(config)} | CNI_COMMAND=$1 CNI_CONTAINERID=imago-check CNI_NETNS=/run/netns/imago-check CNI_IFNAME=eth0 CNI_PATH=${folder} ${folder}/bridge; }`,
        'call ADD; code=$?',
        'ip netns exec imago-check ip -4 -oneline address show dev eth0',
        'call DEL; ip netns delete imago-check; ip link delete imagocheck0; rm -rf /run/imago-check; exit $code',
      ].join('\n');
    },
    judge: ({ exitCode, output }) => {
      const address = /inet (192\.0\.2\.\d+)/.exec(output)?.[1];
      return exitCode === 0 && address !== undefined
        ? pass(address)
        : fail(lines(output).at(-1) ?? 'no address');
    },
  },
];
