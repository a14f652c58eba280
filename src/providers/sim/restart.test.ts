// The world outlives the process: real children are really killed.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../../test/support/sim/virtual-clock.ts';
import type { Lock } from '../../domain/lock/lock.ts';
import { createSimProvider, type SimProvider } from './provider.ts';

let folder: string;
let file: string;
const children: ChildProcess[] = [];
const options = { signal: new AbortController().signal, epoch: 1 };
const image = { name: 'node', os: 'linux', architecture: 'x64', generation: 2 } as const;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'imago-sim-'));
  file = join(folder, 'world.sqlite');
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

/** A process that opens the world as `sim` and runs the code. */
function child(code: string): ChildProcess {
  const provider = new URL('./provider.ts', import.meta.url).href;
  const program = `
    import { createSimProvider } from ${JSON.stringify(provider)};
    const sim = createSimProvider({ file: ${JSON.stringify(file)}, timeScale: 100000 });
    const options = ${JSON.stringify({ epoch: 1 })};
    options.signal = new AbortController().signal;
    ${code}
    await sim.close();`;
  const started = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(started);
  return started;
}

async function ended(process: ChildProcess): Promise<string> {
  const [code, signal] = await once(process, 'exit');
  return signal ?? `exit ${code}`;
}

async function withWorld<T>(body: (sim: SimProvider) => T | Promise<T>): Promise<T> {
  const sim = createSimProvider({ file });
  try {
    return await body(sim);
  } finally {
    await sim.close();
  }
}

describe('a fault that kills the process', () => {
  const code = `await sim.gallery.createImage(${JSON.stringify(image)}, options);`;

  it.each([
    { kind: 'dies-before', done: false },
    { kind: 'dies-after', done: true },
  ] as const)('$kind: really kills it, once, and the work is done: $done', async ({ kind, done }) => {
    await withWorld((sim) => sim.faults.add({ kind, call: 'gallery.createImage', name: 'node' }));
    expect(await ended(child(code))).toBe('SIGKILL');
    await withWorld(async (sim) => {
      expect((await sim.gallery.getImage('node', options)) !== undefined).toBe(done);
      expect(sim.faults.list()).toMatchObject([{ hits: 1, spent: true }]);
    });
    expect(await ended(child(code))).toBe('exit 0');
    await withWorld(async (sim) => expect(await sim.gallery.getImage('node', options)).toBeDefined());
  });

  it('other faults outlive it too', async () => {
    await withWorld((sim) => {
      sim.faults.add({ kind: 'dies-after', call: 'gallery.createImage' });
      sim.faults.add({ kind: 'fails', call: 'gallery.getImage', after: 1 });
    });
    expect(await ended(child(code))).toBe('SIGKILL');
    await withWorld(async (sim) => {
      await sim.gallery.getImage('node', options);
      await expect(sim.gallery.getImage('node', options)).rejects.toMatchObject({ code: 'provider-failed' });
    });
  });
});

describe('kill -9 at any moment', () => {
  it('leaves each call whole or not done at all', async () => {
    const busy = child(`
      const silent = { progress() {}, log() {} };
      const disk = await sim.builder.build({ lockDigest: 'sha256:a', lock: {} }, silent, options);
      await sim.gallery.createImage(${JSON.stringify(image)}, options);
      const source = { kind: 'disk', digest: disk.diskDigest };
      const spec = { image: 'node', version: '1.0.0', source, regions: [], excludeFromLatest: false, tags: {} };
      await sim.gallery.createVersion(spec, options);
      await sim.clock.sleep(3_600_000);
      const model = { image: 'node', version: '1.0.0', digest: disk.digest, size: 's', nodeConfig: '', tags: {} };
      await sim.pools.createPool({ name: 'web', orchestration: 'uniform', model, capacity: 200 }, options);
      console.log('busy');
      for (let turn = 1; ; turn++) await sim.pools.setCapacity('web', 200 + (turn % 2) * 300, {}, options);`);
    await once(busy.stdout ?? busy, 'data');
    await new Promise((resolve) => setTimeout(resolve, 50));
    busy.kill('SIGKILL');
    expect(await ended(busy)).toBe('SIGKILL');
    await withWorld((sim) => {
      const { pools, nodes } = sim.world.view();
      const live = nodes.filter((node) => node.state !== 'deleting');
      expect(live).toHaveLength(pools[0]?.capacity ?? -1);
      expect(new Set(nodes.map((node) => node.machineId)).size).toBe(nodes.length);
    });
  });
});

describe('two processes on one world', () => {
  it('do not come between each other', async () => {
    const code = (stem: string) => `
      for (let index = 0; index < 100; index++) {
        await sim.gallery.createImage({ ...${JSON.stringify(image)}, name: '${stem}' + index }, options);
      }`;
    expect(await Promise.all([ended(child(code('one'))), ended(child(code('two')))])).toEqual([
      'exit 0',
      'exit 0',
    ]);
    await withWorld((sim) => expect(sim.world.view().images).toHaveLength(200));
  });
});

describe('time', () => {
  it('continues after a kill, and never goes back', async () => {
    const first = child(
      'console.log(sim.clock.now()); setInterval(() => undefined, 1000); await new Promise(() => undefined);',
    );
    const [line] = await once(first.stdout ?? first, 'data');
    first.kill('SIGKILL');
    await ended(first);
    const second = child('console.log(sim.clock.now());');
    const [later] = await once(second.stdout ?? second, 'data');
    expect(Number(later)).toBeGreaterThan(Number(line));
    await ended(second);
  });

  it('continues from there with a virtual clock that starts earlier', async () => {
    // At this pace, time that passes between what is stored and what is returned cannot go unnoticed.
    const { now } = await withWorld((sim) => sim.control.setTime({ scale: 1_000_000, advanceMs: 1_000_000 }));
    const clock = createVirtualClock({ start: 0 });
    const sim = createSimProvider({ file, clock });
    const began = sim.clock.now();
    expect(began).toBeGreaterThanOrEqual(Date.parse(now));
    await clock.advance(5_000);
    expect(sim.clock.now()).toBe(began + 5_000);
    await sim.close();
  });

  it('keeps the pace that was set, unless another is asked for', async () => {
    await withWorld((sim) => sim.control.setTime({ scale: 5 }));
    await withWorld(async (sim) => expect((await sim.control.time()).scale).toBe(5));
    const sim = createSimProvider({ file, timeScale: 7 });
    expect((await sim.control.time()).scale).toBe(7);
    await sim.close();
  });

  it('that was moved on stays moved on', async () => {
    const day = 86_400_000;
    const before = await withWorld(async (sim) => {
      const { now } = await sim.control.time();
      await sim.control.setTime({ scale: 1, advanceMs: 10 * day });
      return Date.parse(now);
    });
    await withWorld(async (sim) => {
      expect(Date.parse((await sim.control.time()).now)).toBeGreaterThanOrEqual(before + 10 * day);
      await expect(sim.control.setTime({ advanceMs: -1 })).rejects.toMatchObject({ code: 'input-invalid' });
      await expect(sim.control.setTime({ scale: 0 })).rejects.toMatchObject({ code: 'input-invalid' });
    });
  });

  it('work that was begun before a kill is finished after it', async () => {
    await withWorld(async (sim) => {
      await sim.control.setTime({ scale: 1 });
      const silent = { progress: () => undefined, log: () => undefined };
      const build = sim.builder.build({ lockDigest: 'sha256:a', lock: {} as Lock }, silent, options);
      for (let turn = 0; turn < 60; turn++) {
        await sim.control.setTime({ advanceMs: 60_000 });
        await new Promise((resolve) => setImmediate(resolve));
      }
      const disk = await build;
      await sim.gallery.createImage(image, options);
      const source = { kind: 'disk', digest: disk.diskDigest } as const;
      const spec = {
        image: 'node',
        version: '1.0.0',
        source,
        regions: [],
        excludeFromLatest: false,
        tags: {},
      };
      await sim.gallery.createVersion(spec, options);
      expect((await sim.gallery.getVersion('node', '1.0.0', options))?.state).toBe('creating');
    });
    await withWorld(async (sim) => {
      expect((await sim.gallery.getVersion('node', '1.0.0', options))?.state).toBe('creating');
      await sim.control.setTime({ advanceMs: 600_000 });
      expect((await sim.gallery.getVersion('node', '1.0.0', options))?.state).toBe('ready');
    });
  });
});

describe('a world that cannot be opened as asked', () => {
  it('is closed', async () => {
    expect(() => createSimProvider({ file, timeScale: -1 })).toThrow('above 0');
    await withWorld((sim) => expect(sim.world.view().pools).toEqual([]));
  });
});

describe('owners', () => {
  it('the largest epoch is remembered', async () => {
    await withWorld((sim) => sim.gallery.getImage('node', { ...options, epoch: 9 }));
    await withWorld(async (sim) => {
      await expect(sim.gallery.createImage(image, { ...options, epoch: 8 })).rejects.toMatchObject({
        code: 'owner-stale',
      });
    });
  });
});
