import { describe, expect, it } from 'vitest';
import { silent, simFixture } from '../../../../test/support/sim/fixture.ts';
import type { Recipe } from '../../../domain/recipe/recipe.ts';
import type { Json } from '../../../domain/value/json.ts';
import { layersOf, lockOf } from './plan.ts';

function recipe(change: Readonly<Record<string, Json>> = {}): Json {
  return {
    name: 'node',
    os: 'linux',
    architecture: 'x64',
    kubernetes: '1.34.2',
    components: [
      { name: 'containerd', kind: 'package', version: '1.7.24' },
      { name: 'kubelet', kind: 'binary', version: '1.34.2', source: 'https://example.test/kubelet' },
      { name: 'pause', kind: 'container-image', version: '3.10' },
    ],
    settings: {},
    ...change,
  };
}

function changed(name: string, version: string): Json {
  const { components } = recipe() as { components: { name: string }[] };
  return recipe({
    components: components.map((component) =>
      component.name === name ? { ...component, version } : component,
    ),
  } as never);
}

describe('the lock', () => {
  it('has an exact version, sha256 and size for every component', () => {
    const { inputs } = lockOf(recipe());
    expect(inputs).toHaveLength(3);
    for (const input of inputs) {
      expect(input).toMatchObject({
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        sizeBytes: expect.any(Number),
      });
    }
  });

  it.each([{ sha256: 'a'.repeat(64) }, { from: { url: 'u', sha256: 'a'.repeat(64) } }])(
    'keeps a sha256 that the recipe fixes: %o',
    (fixed) => {
      const lock = lockOf(recipe({ components: [{ name: 'a', version: '1', ...fixed }] }));
      expect(lock).toMatchObject({ inputs: [{ sha256: 'a'.repeat(64) }] });
    },
  );

  it('has one input for each version, package and container image', () => {
    const lock = lockOf(
      recipe({
        packages: ['curl', { name: 'git' }],
        components: [{ name: 'kubelet', versions: ['1.1.0', '1.2.0'], from: { url: 'u' } }],
        images: [{ name: 'pause', version: '3.10' }],
      }),
    );
    expect(lock.inputs.map(({ kind, version }) => `${kind} ${version}`)).toEqual([
      'binary 1.1.0',
      'binary 1.2.0',
      'container-image 3.10',
      'package 1.0.0-sim',
      'package 1.0.0-sim',
    ]);
  });

  it('is the same wherever the recipe lies', () => {
    expect(lockOf(recipe({ folder: '/here' }))).toEqual(lockOf(recipe({ folder: '/there' })));
  });

  it('takes simulated time, and a fault can make it fail', async () => {
    const { sim, clock, options } = simFixture();
    const began = clock.now();
    expect(await sim.builder.lock(recipe() as Recipe, silent, options)).toEqual(lockOf(recipe()));
    expect(clock.now()).toBeGreaterThan(began);
    sim.faults.add({ kind: 'fails', call: 'builder.lock', name: 'node' });
    await expect(sim.builder.lock(recipe() as Recipe, silent, options)).rejects.toMatchObject({
      code: 'provider-failed',
    });
  });
});

describe('layers', () => {
  it.each([
    ['containerd', 1],
    ['kubelet', 2],
    ['pause', 3],
  ])('a new %s keeps the %i layers below it and no other', (name, kept) => {
    const before = layersOf(lockOf(recipe())).map((layer) => layer.key);
    const after = layersOf(lockOf(changed(name, '99'))).map((layer) => layer.key);
    expect(after.map((key, index) => key === before[index])).toEqual(before.map((_, index) => index < kept));
  });
});

describe('a build', () => {
  const lock = lockOf(recipe());
  const request = { lockDigest: 'sha256:one', lock };

  it('takes minutes, and a second one of another lock only what changed', async () => {
    const { sim, clock, options } = simFixture();
    const began = clock.now();
    await sim.builder.build(request, silent, options);
    const first = clock.now() - began;
    expect(first).toBe(440_000);
    const log: string[] = [];
    const other = { lockDigest: 'sha256:two', lock: lockOf(changed('pause', '3.11')) };
    await sim.builder.build(other, { ...silent, log: (line) => log.push(line) }, options);
    expect(clock.now() - began - first).toBe(140_000);
    expect(log.filter((line) => line.includes('reused'))).toHaveLength(3);
  });

  it('resumes where an aborted one stopped', async () => {
    const { sim, clock, options } = simFixture();
    const abort = new AbortController();
    const progress = (done: number) => {
      if (done === 12) abort.abort('given up');
    };
    const build = sim.builder.build(request, { ...silent, progress }, { ...options, signal: abort.signal });
    await expect(build).rejects.toBe('given up');
    const began = clock.now();
    await sim.builder.build(request, silent, options);
    expect(clock.now() - began).toBe(60_000 + 120_000 + 20_000);
  });

  it('gives the same digests in every world', async () => {
    const [one, other] = [simFixture({ seed: 'a' }), simFixture({ seed: 'b' })];
    expect(await one.sim.builder.build(request, silent, one.options)).toEqual(
      await other.sim.builder.build(request, silent, other.options),
    );
  });

  it('of a recipe that is marked so fails at its components, and says that trying again is useless', async () => {
    const { sim, options } = simFixture();
    const broken = lockOf(recipe({ settings: { sim: { breaks: 'build' } } }));
    const build = sim.builder.build({ lockDigest: 'sha256:broken', lock: broken }, silent, options);
    await expect(build).rejects.toMatchObject({ code: 'build-failed', retryable: false });
    expect(await sim.builder.find('sha256:broken', options)).toBeUndefined();
  });
});
