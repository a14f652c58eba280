// `imago test` on real machines. An image that is broken in many ways at once fails, by the checks that each fault is
// for and by no others, keeps the evidence, and never becomes available; a good one does.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { kubernetesFolder } from '../../scripts/get-kubernetes.ts';
import type { CheckResult } from '../../src/domain/image-test/image-check.ts';
import { buildAgentImage } from '../support/agent-machine.ts';
import { breakDisk } from '../support/broken-image.ts';
import { writeContainerImage } from '../support/container-image.ts';
import {
  brokenChecks,
  brokenConfig,
  brokenContainers,
  brokenPrograms,
  brokenRecipe,
} from '../support/faults.ts';
import { kubernetesMs, testedKubernetes } from '../support/kubernetes.ts';
import { createOrdinaryImago, type OrdinaryImago } from '../support/ordinary-imago.ts';

interface Shown {
  readonly state: string;
  readonly evidence: readonly {
    readonly kind: string;
    readonly passed: boolean;
    readonly details: { readonly checks: readonly CheckResult[] };
  }[];
}

const examples = join(import.meta.dirname, '../../examples');
let imago: OrdinaryImago;

beforeAll(() => {
  imago = createOrdinaryImago();
});
afterAll(() => imago.end());

async function brokenDisk(): Promise<string> {
  const work = join(imago.folder, 'broken');
  await mkdir(work);
  for (const [name, text] of Object.entries(brokenPrograms)) await writeFile(join(work, name), text);
  for (const [name, command] of Object.entries(brokenContainers))
    await writeContainerImage(join(work, name), { tag: '1', greeting: name, command });
  const recipe = join(work, 'imago.yaml');
  await writeFile(recipe, brokenRecipe);
  const { disk } = await buildAgentImage(work, recipe);
  await breakDisk(disk, work);
  return disk;
}

/** What the evidence of its only test holds. */
async function evidenceOf(version: string) {
  const shown = await imago.json<Shown>('image', 'show', version);
  const [evidence] = shown.evidence.filter(({ kind }) => kind === 'test');
  const checks = evidence?.details.checks ?? [];
  const machines = new Set(checks.map(({ on }) => on).filter((on) => on.startsWith('test-')));
  return { state: shown.state, passed: evidence?.passed, checks, machines };
}

/** Five minutes and more, emulated: two machines here, then three with a kubelet. The quickstart's test is in every check. */
const soak = process.env.IMAGO_SOAK === '1';

it.runIf(soak)(
  '(soak) a broken image fails by the named checks and by no others, and stays a candidate',
  async () => {
    const disk = await brokenDisk();
    const config = join(imago.folder, 'node.json');
    await writeFile(config, JSON.stringify(brokenConfig));
    await imago.json('image', 'import', disk, '--name', 'broken', '--version', '1.0.0');
    const junit = join(imago.userHome, 'results.xml');
    const { code, err } = await imago.run(
      ...['test', 'broken:1.0.0', '--firmware', 'direct', '--node-config', config, '--junit', junit],
    );
    expect(code, err).toBe(1);
    const { state, passed, checks, machines } = await evidenceOf('broken:1.0.0');
    expect([state, passed]).toEqual(['candidate', false]);
    const failed = checks.filter((check) => check.state === 'failed');
    const told = failed.map(({ id, on, detail }) => `${id} on ${on}: ${detail}`).join('\n');
    expect([...new Set(failed.map(({ id }) => id))].sort(), told).toEqual(brokenChecks);
    expect(
      checks.filter((check) => check.state === 'passed').length,
      'what is not broken passes',
    ).toBeGreaterThan(20);
    expect(checks.filter((check) => check.state === 'not-run')).toEqual([]);
    for (const { remedy } of failed) expect(remedy).toEqual(expect.any(String));
    expect(machines.size).toBe(2);
    for (const { id, on } of failed.filter((check) => machines.has(check.on) && !/^restart/.test(check.id))) {
      const elsewhere = failed.filter((check) => check.id === id && check.on !== on);
      expect(elsewhere, `${id} is found on both machines`).not.toEqual([]);
    }
    const detailOf = (id: string) => failed.find((check) => check.id === id)?.detail;
    expect(detailOf('agent-second-apply')).toContain('ssh.service was restarted');
    expect(detailOf('runtime-runs')).toBe('ended with 139');
    const text = await readFile(junit, 'utf8');
    expect(text.match(/<failure /g)).toHaveLength(failed.length);
    const promote = ['channel', 'promote', 'broken:1.0.0', '--to', 'production', '--reason', 'x'];
    expect((await imago.run(...promote)).code).toBe(4);
    expect(await readdir(join(imago.home, 'local', 'machines'))).toEqual([]);
  },
  1_800_000,
);

const goodRecipe = `extends: ${join(examples, 'common/runtime.yaml')}
name: good
numbering: kubernetes
kubernetes: 1.34.2
disk:
  size: 1536MiB
packages:
  - openssh-server
components:
  - name: kubelet
    version: \${kubernetes}
    from:
      file: ${kubernetesFolder()}/\${version}/\${machine}/kubelet
    to: /usr/bin/kubelet
    unit:
      file: ${join(examples, 'node/files/kubelet.service')}
  - name: agent-settings
    version: "1"
    from:
      file: agent.json
    to: /etc/imago/agent.json
    mode: "0644"
images:
  - name: example.test/app:1
    from:
      layout: app
  - name: example.test/sandbox:1
    from:
      layout: sandbox
    pinned: true
`;

it.runIf(soak)(
  '(soak) an image with a kubelet passes by every kind of firmware while its kubelet runs, and is available',
  async () => {
    const work = join(imago.folder, 'good');
    await mkdir(work);
    await testedKubernetes();
    for (const [name, command] of Object.entries({
      app: ['/bin/busybox', 'false'],
      sandbox: ['/bin/busybox', 'sleep', '1000'],
    }))
      await writeContainerImage(join(work, name), { tag: '1', greeting: name, command });
    const recipe = join(work, 'imago.yaml');
    await writeFile(recipe, goodRecipe);
    await writeFile(join(work, 'agent.json'), JSON.stringify({ readyDeadlineMs: 1_500_000 }));
    const { disk } = await buildAgentImage(work, recipe);
    await imago.json('image', 'import', disk, '--name', 'good', '--version', '1.0.0');
    const { code, err } = await imago.run('test', 'good:1.0.0');
    expect(code, err).toBe(0);
    const { state, passed, checks, machines } = await evidenceOf('good:1.0.0');
    expect([state, passed]).toEqual(['available', true]);
    expect(checks.filter((check) => check.state !== 'passed')).toEqual([]);
    expect(machines.size).toBe(3);
    const details = (id: string) => checks.filter((check) => check.id === id).map(({ detail }) => detail);
    expect(new Set(details('software-kubelet-healthy'))).toEqual(new Set(['ok']));
    expect(new Set(details('runtime-runs'))).toEqual(new Set(['runs']));
    expect(new Set(details('agent-secrets'))).toEqual(new Set(['none of 2']));
  },
  kubernetesMs,
);
