// `imago test` on a real image that is broken in many ways at once: it fails, by the checks that each fault is for and
// by no others, keeps the evidence, and the version never becomes available.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CheckResult } from '../../src/domain/image-checks/image-check.ts';
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
import { createOrdinaryImago, type OrdinaryImago } from '../support/ordinary-imago.ts';

interface Shown {
  readonly state: string;
  readonly evidence: readonly {
    readonly kind: string;
    readonly passed: boolean;
    readonly details: { readonly checks: readonly CheckResult[] };
  }[];
}

let imago: OrdinaryImago;
let disk: string;
let config: string;

beforeAll(async () => {
  imago = createOrdinaryImago();
  const work = join(imago.folder, 'image');
  await mkdir(work);
  for (const [name, text] of Object.entries(brokenPrograms)) await writeFile(join(work, name), text);
  for (const [name, command] of Object.entries(brokenContainers))
    await writeContainerImage(join(work, name), { tag: '1', greeting: name, command });
  const recipe = join(work, 'imago.yaml');
  await writeFile(recipe, brokenRecipe);
  ({ disk } = await buildAgentImage(work, recipe));
  await breakDisk(disk, work);
  config = join(imago.folder, 'node.json');
  await writeFile(config, JSON.stringify(brokenConfig));
});
afterAll(() => imago.end());

/** Two machines and a restart of each take eight minutes, emulated. Each check's verdict is shown by a unit test too. */
const soak = process.env.IMAGO_SOAK === '1';

it.runIf(soak)(
  '(soak) fails by the named checks and by no others, and the version stays a candidate',
  async () => {
    await imago.json('image', 'import', disk, '--name', 'broken', '--version', '1.0.0');
    const junit = join(imago.userHome, 'results.xml');
    const { code, err } = await imago.run(
      ...['test', 'broken:1.0.0', '--firmware', 'direct', '--node-config', config, '--junit', junit],
    );
    expect(code, err).toBe(1);
    const shown = await imago.json<Shown>('image', 'show', 'broken:1.0.0');
    expect(shown.state).toBe('candidate');
    const [evidence] = shown.evidence.filter(({ kind }) => kind === 'test');
    const checks = evidence?.details.checks ?? [];
    expect(evidence?.passed).toBe(false);
    const failed = checks.filter(({ state }) => state === 'failed');
    const told = failed.map(({ id, on, detail }) => `${id} on ${on}: ${detail}`).join('\n');
    expect([...new Set(failed.map(({ id }) => id))].sort(), told).toEqual(brokenChecks);
    expect(
      checks.filter(({ state }) => state === 'passed').length,
      'what is not broken passes',
    ).toBeGreaterThan(20);
    expect(checks.filter(({ state }) => state === 'not-run')).toEqual([]);
    for (const { remedy } of failed) expect(remedy).toEqual(expect.any(String));
    const machines = new Set(checks.map(({ on }) => on).filter((on) => on.startsWith('test-')));
    expect(machines.size).toBe(2);
    for (const { id, on } of failed.filter((check) => machines.has(check.on) && !/^restart/.test(check.id))) {
      const elsewhere = failed.filter((check) => check.id === id && check.on !== on);
      expect(elsewhere, `${id} is found on both machines`).not.toEqual([]);
    }
    const text = await readFile(junit, 'utf8');
    expect(text.match(/<failure /g)).toHaveLength(failed.length);
    const promoted = await imago.run(
      'channel',
      'promote',
      'broken:1.0.0',
      '--to',
      'production',
      '--why',
      'x',
    );
    expect(promoted.code).toBe(4);
    expect(await readdir(join(imago.home, 'local', 'machines'))).toEqual([]);
  },
);
