// The builder: one lock, one disk, whoever asks and however often.

import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Recipe } from '../../../src/domain/recipe/recipe.ts';
import { canonicalJson } from '../../../src/domain/value/canonical-json.ts';
import type { BuildProgress, BuildRequest, SealedDisk } from '../../../src/ports/provider/builder.ts';
import type { CallOptions } from '../../../src/ports/provider/call.ts';
import type { Suite } from './suite.ts';

export function builderRules(suite: Suite): void {
  const { options } = suite;
  const silent: BuildProgress = { progress: () => undefined, log: () => undefined };

  function recipe(name: string) {
    return {
      name,
      numbering: 'semver',
      os: 'linux',
      architecture: 'x64',
      components: [{ name: 'containerd', kind: 'package', version: '1.7.24' }],
      settings: {},
    };
  }

  async function requestFor(name: string): Promise<BuildRequest> {
    const lock = await waiting((passed) =>
      suite.role('builder').lock(recipe(name) as unknown as Recipe, silent, passed),
    );
    const lockDigest = `sha256:${createHash('sha256').update(canonicalJson(lock)).digest('hex')}`;
    return { lock, lockDigest };
  }

  /** Lets the provider's time pass while the call goes on. */
  async function waiting<T>(call: (passed: CallOptions) => Promise<T>, passed = options): Promise<T> {
    let ended = false;
    const result = call(passed).finally(() => {
      ended = true;
    });
    result.catch(() => undefined);
    await suite.under.settle(async () => ended);
    return result;
  }

  function build(request: BuildRequest, progress = silent, passed = options): Promise<SealedDisk> {
    return waiting((given) => suite.role('builder').build(request, progress, given), passed);
  }

  describe('builder', () => {
    it('a lock that was never built has no disk', async () => {
      expect(await suite.role('builder').find(`sha256:${'0'.repeat(64)}`, options)).toBeUndefined();
    });

    it('the same recipe gives the same lock when nothing outside changed', async () => {
      const name = suite.name('recipe');
      expect(await requestFor(name)).toEqual(await requestFor(name));
    });

    it('a build tells how far it is, ends with a sealed disk, and is found again', async () => {
      const request = await requestFor(suite.name('recipe'));
      const told: (readonly [number, number])[] = [];
      const disk = await build(request, { ...silent, progress: (done, total) => told.push([done, total]) });
      expect(disk.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
      expect(disk.diskDigest).toMatch(/^sha256:[0-9a-f]{64}$/);
      expect(disk.sizeBytes).toBeGreaterThan(0);
      expect(told.length).toBeGreaterThan(1);
      for (const [index, [done, total]] of told.entries()) {
        expect(done).toBeLessThanOrEqual(total);
        expect(done).toBeGreaterThanOrEqual(told[index - 1]?.[0] ?? 0);
      }
      expect(told.at(-1)?.[0]).toBe(told.at(-1)?.[1]);
      expect(await suite.role('builder').find(request.lockDigest, options)).toEqual(disk);
    });

    it('the same lock gives the same disk, another lock another', async () => {
      const request = await requestFor(suite.name('recipe'));
      const disk = await build(request);
      expect(await build(request)).toEqual(disk);
      const other = await build(await requestFor(suite.name('recipe')));
      expect(other.digest).not.toBe(disk.digest);
      expect(other.diskDigest).not.toBe(disk.diskDigest);
    });

    it('two who ask at once share the work, and one of them may leave', async () => {
      const request = await requestFor(suite.name('recipe'));
      const leaving = new AbortController();
      const reason = new Error('leaving');
      const [left, stayed] = await Promise.allSettled([
        build(request, silent, { ...options, signal: leaving.signal }),
        build(request, { ...silent, progress: () => leaving.abort(reason) }),
      ]);
      expect(stayed.status).toBe('fulfilled');
      if (left.status === 'rejected') expect(left.reason).toBe(reason);
      expect(await suite.role('builder').find(request.lockDigest, options)).toEqual(
        stayed.status === 'fulfilled' ? stayed.value : undefined,
      );
    });

    it('one that is given up is not found, and can be taken up again', async () => {
      const request = await requestFor(suite.name('recipe'));
      const leaving = new AbortController();
      const reason = new Error('given up');
      const progress = { ...silent, progress: (done: number) => done > 0 && leaving.abort(reason) };
      await expect(build(request, progress, { ...options, signal: leaving.signal })).rejects.toBe(reason);
      expect(await suite.role('builder').find(request.lockDigest, options)).toBeUndefined();
      const disk = await build(request);
      expect(await suite.role('builder').find(request.lockDigest, options)).toEqual(disk);
    });
  });
}
