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

/** Every image by its own entry point; one that ends by itself must end well, one that stays must stay. */
function runScript(name: string): string {
  const image = shellWord(name);
  return [
    'id="imago-check-$$"',
    `ctr --namespace k8s.io run --detach ${image} "$id" || exit 1`,
    'sleep 1',
    'state=$(ctr --namespace k8s.io tasks list | awk -v id="$id" \'$1 == id { print $3 }\')',
    'ctr --namespace k8s.io tasks kill --signal SIGKILL "$id" >/dev/null 2>&1',
    'ctr --namespace k8s.io tasks delete --force "$id" >/dev/null 2>&1; code=$?',
    'ctr --namespace k8s.io containers delete "$id" >/dev/null 2>&1',
    'case $state in RUNNING) echo runs ;; STOPPED) echo "ended" ;; *) echo "state: $state"; exit 1 ;; esac',
  ].join('\n');
}

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
      hasRuntime(facts) ? "ctr --namespace k8s.io images list | awk 'NR > 1 { print $1, $3 }'" : undefined,
    judge({ exitCode, output }, { disk }) {
      if (exitCode !== 0) return fail(output.slice(0, 200));
      const found = new Set(lines(output));
      const missing = (disk?.containerImages ?? []).filter(
        ({ name, digest }) => !found.has(`${name} ${digest}`),
      );
      return passWhenNone(
        missing.map(({ name }) => `lacks ${name}`),
        `${disk?.containerImages.length ?? 0} images`,
      );
    },
  },
  {
    id: 'runtime-content',
    title: 'the container images are whole and unpacked',
    remedy: 'Build the version again: its container store is incomplete.',
    script: (facts) =>
      hasRuntime(facts) && facts.disk !== undefined && facts.disk.containerImages.length > 0
        ? 'ctr --namespace k8s.io images check | awk \'NR > 1 && ($4 != "complete" || $NF != "true") { print $1 }\''
        : undefined,
    judge: ({ exitCode, output }) =>
      exitCode === 0 ? passWhenNone(lines(output), 'all') : fail(output.slice(0, 200)),
  },
  {
    id: 'runtime-runs',
    title: 'a container of the image itself runs offline',
    remedy: 'Run it by hand with `ctr` on a machine that was kept.',
    script(facts) {
      const first = facts.disk?.containerImages[0];
      return hasRuntime(facts) && first !== undefined ? runScript(first.name) : undefined;
    },
    judge: (answer) => passWhenEnds(answer, lines(answer.output).at(-1) ?? 'runs'),
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
