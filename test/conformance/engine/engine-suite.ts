// What every durable engine promises, in one suite: it runs over all adapters.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ImagoError } from '../../../src/domain/error/imago-error.ts';
import type { Json } from '../../../src/domain/value/json.ts';
import type { Engine, Interpreter, Run } from '../../../src/ports/workflow/engine.ts';

/** One adapter, with a place of its own to record in. */
export interface EngineHarness {
  /** A new process's engine on what earlier ones recorded. It has not been started. */
  open(): Promise<Engine>;
  /** Ends the process that this engine stands for, without letting anything that runs come to its end. */
  crash(engine: Engine): Promise<void>;
  /** Lets that much of the engine's time pass. */
  pass(ms: number): Promise<void>;
  now(): number;
  close(): Promise<void>;
}

type Body = (run: Run) => Promise<void>;

export function describeEngine(name: string, createHarness: () => Promise<EngineHarness>): void {
  describe(`engine ${name}`, () => {
    let harness: EngineHarness;
    let engine: Engine;
    let bodies: Map<string, Body>;
    let ended: string[];

    const interpreter: Interpreter = async (run) => {
      await bodies.get(run.id)?.(run);
      ended.push(run.id);
    };

    async function open(): Promise<void> {
      engine = await harness.open();
      await engine.start(interpreter);
    }

    async function restart(): Promise<void> {
      await harness.crash(engine);
      await open();
    }

    async function runs(id: string, body: Body, key = id): Promise<void> {
      bodies.set(id, body);
      await engine.enqueue(id, { key });
    }

    async function until(condition: () => boolean): Promise<void> {
      for (let turn = 0; !condition(); turn += 1) {
        if (turn > 3_000) throw new Error('What the test waits for did not come.');
        await harness.pass(10);
      }
    }

    beforeEach(async () => {
      harness = await createHarness();
      bodies = new Map();
      ended = [];
      await open();
    });

    afterEach(async () => {
      await engine.stop();
      await harness.close();
    });

    it('runs what is enqueued, and gives the steps their results', async () => {
      const seen: Json[] = [];
      await runs('a', async (run) => {
        seen.push(run.id, await run.step('one', async () => ({ n: 1, list: [null, 'x'] })));
        seen.push(await run.step('two', async () => null));
      });
      await until(() => ended.includes('a'));
      expect(seen).toEqual(['a', { n: 1, list: [null, 'x'] }, null]);
    });

    it('never calls a body again that had returned, also after a crash', async () => {
      const called: string[] = [];
      const results: Json[] = [];
      const hold = Promise.withResolvers<void>();
      await runs('a', async (run) => {
        results.push(await run.step('one', async () => `one ${called.push('one')}`));
        await run.step('two', async () => {
          called.push('two');
          if (called.filter((step) => step === 'two').length === 1) await hold.promise;
          return null;
        });
      });
      await until(() => called.includes('two'));
      await restart();
      await until(() => ended.includes('a'));
      expect(called).toEqual(['one', 'two', 'two']);
      expect(results).toEqual(['one 1', 'one 1']);
      hold.resolve();
    });

    it('lets an older process that wakes up late record nothing', async () => {
      const hold = Promise.withResolvers<void>();
      let attempts = 0;
      const results: Json[] = [];
      await runs('a', async (run) => {
        const result = await run.step('one', async () => {
          attempts += 1;
          if (attempts > 1) return 'the new one';
          await hold.promise;
          return 'the late one';
        });
        results.push(result);
      });
      await until(() => attempts === 1);
      await restart();
      await until(() => ended.includes('a'));
      hold.resolve();
      await harness.pass(200);
      expect(results).toEqual(['the new one']);
      expect(ended).toEqual(['a']);
    });

    it('calls a body that throws again after a pause, and records nothing of it', async () => {
      let attempts = 0;
      const results: Json[] = [];
      await runs('a', async (run) => {
        const result = await run.step('one', async () => {
          attempts += 1;
          if (attempts < 3) throw new Error('the database is away');
          return attempts;
        });
        results.push(result);
      });
      await until(() => ended.includes('a'));
      expect(results).toEqual([3]);
    });

    it('ends a run whose interpreter throws, and does not begin it again', async () => {
      let begun = 0;
      await runs('a', async () => {
        begun += 1;
        throw new Error('a bug');
      });
      await until(() => begun === 1);
      await harness.pass(200);
      await runs('b', async () => undefined, 'a');
      await until(() => ended.includes('b'));
      await restart();
      await harness.pass(1_500);
      expect(begun).toBe(1);
    });

    it('enqueues an id once, also after its end', async () => {
      let begun = 0;
      await runs('a', async () => {
        begun += 1;
      });
      await engine.enqueue('a', { key: 'a' });
      await until(() => ended.includes('a'));
      await engine.enqueue('a', { key: 'a' });
      await harness.pass(200);
      expect(begun).toBe(1);
    });

    it('can be asked from inside a step', async () => {
      bodies.set('child', async () => undefined);
      await runs('a', async (run) => {
        await run.step('one', async () => {
          await engine.enqueue('child', { key: 'child' });
          await engine.send('a', 'news', 'from inside');
          return null;
        });
        const news = await run.waitFor('news', 60_000);
        await run.step('two', async () => news ?? null);
        ended.push(String(news));
      });
      await until(() => ended.includes('a') && ended.includes('child'));
      expect(ended).toContain('from inside');
    });

    it('runs one key one at a time in the order of the queue, and others beside it', async () => {
      const order: string[] = [];
      const gates = new Map(['a', 'b', 'c', 'x'].map((id) => [id, Promise.withResolvers<void>()]));
      for (const id of ['a', 'b', 'c', 'x']) {
        await runs(
          id,
          async (run) => {
            await run.step('one', async () => {
              order.push(`${id} in`);
              await gates.get(id)?.promise;
              order.push(`${id} out`);
              return null;
            });
          },
          id === 'x' ? 'other' : 'shared',
        );
      }
      await until(() => order.includes('a in') && order.includes('x in'));
      await harness.pass(100);
      expect(order.toSorted()).toEqual(['a in', 'x in']);
      for (const id of ['x', 'c', 'b', 'a']) gates.get(id)?.resolve();
      await until(() => ended.length === 4);
      expect(order.filter((entry) => !entry.startsWith('x'))).toEqual([
        ...['a in', 'a out', 'b in', 'b out', 'c in', 'c out'],
      ]);
    });

    it('keeps a key for the run that holds it across a crash', async () => {
      const order: string[] = [];
      const hold = Promise.withResolvers<void>();
      for (const id of ['b', 'a']) {
        await runs(
          id,
          async (run) => {
            await run.step('one', async () => {
              order.push(id);
              if (order.length === 1) await hold.promise;
              return null;
            });
          },
          'shared',
        );
      }
      await until(() => order.length === 1);
      await harness.crash(engine);
      bodies.set('late', bodies.get('a') ?? (async () => undefined));
      await open();
      await engine.enqueue('late', { key: 'shared' });
      await until(() => ended.length === 3);
      expect(ended).toEqual(['b', 'a', 'late']);
      hold.resolve();
    });

    it('lets a run pass that waits for its key', async () => {
      const hold = Promise.withResolvers<void>();
      await runs(
        'a',
        async (run) => {
          await run.step('one', async () => {
            await hold.promise;
            return null;
          });
        },
        'shared',
      );
      await runs('b', async () => undefined, 'shared');
      await runs('c', async () => undefined, 'shared');
      await engine.letPass('b');
      await engine.letPass('a');
      await engine.letPass('unknown');
      await until(() => ended.includes('b'));
      expect(ended).toEqual(['b']);
      hold.resolve();
      await until(() => ended.length === 3);
      expect(ended).toEqual(['b', 'a', 'c']);
    });

    it('sleeps only what is left after a crash', async () => {
      let began = 0;
      await runs('a', async (run) => {
        await run.step('note', async () => {
          began = harness.now();
          return null;
        });
        await run.sleep('nap', 2_500);
      });
      await until(() => began > 0);
      await harness.pass(1_000);
      await restart();
      await until(() => ended.includes('a'));
      const slept = harness.now() - began;
      expect(slept).toBeGreaterThanOrEqual(2_400);
      expect(ended).toEqual(['a']);
    });

    it('keeps messages until they are read: before the wait, in order, across a crash', async () => {
      const heard: (Json | undefined)[] = [];
      const hold = Promise.withResolvers<void>();
      await runs('a', async (run) => {
        heard.length = 0;
        await run.step('hold', async () => {
          await hold.promise;
          return null;
        });
        heard.push(await run.waitFor('mail', 60_000), await run.waitFor('mail', 60_000));
        heard.push(await run.waitFor('other', 60_000));
      });
      await engine.send('a', 'mail', null);
      await harness.pass(20);
      await engine.send('a', 'mail', { second: true });
      hold.resolve();
      await until(() => heard.length === 2);
      await restart();
      await until(() => heard.length === 2);
      await engine.send('a', 'other', 'third');
      await until(() => ended.includes('a'));
      expect(heard).toEqual([null, { second: true }, 'third']);
    });

    it('gives up waiting when the time is up', async () => {
      const heard: (Json | undefined)[] = [];
      await runs('a', async (run) => {
        heard.push(await run.waitFor('mail', 300));
      });
      await until(() => ended.includes('a'));
      expect(heard).toEqual([undefined]);
    });

    it('refuses messages to runs that never were, and ignores those to ended ones', async () => {
      await expect(engine.send('nobody', 'mail', 1)).rejects.toMatchObject({ code: 'operation-not-found' });
      await runs('a', async () => undefined);
      await until(() => ended.includes('a'));
      await engine.send('a', 'mail', 1);
    });

    it('stops with its signal, records nothing as failed, and goes on at the next start', async () => {
      const seen: string[] = [];
      await runs('a', async (run) => {
        await run.step('long', async () => {
          seen.push('begun');
          if (seen.length > 1) return null;
          await new Promise((_, reject) =>
            run.signal.addEventListener('abort', () => reject(run.signal.reason)),
          );
          return null;
        });
      });
      await until(() => seen.length === 1);
      await engine.stop();
      expect(ended).toEqual([]);
      await open();
      await until(() => ended.includes('a'));
      expect(seen).toEqual(['begun', 'begun']);
    });

    it('refuses a second start, and work before the first', async () => {
      await expect(engine.start(interpreter)).rejects.toBeInstanceOf(ImagoError);
      await engine.stop();
      await engine.stop();
      engine = await harness.open();
      await expect(engine.enqueue('a', { key: 'a' })).rejects.toBeInstanceOf(ImagoError);
    });

    it('fires a schedule at its times, each once, until it is replaced or ended', async () => {
      const fired: string[] = [];
      const spec = { name: 'often', cron: '* * * * * *', timeZone: 'Europe/Paris' };
      await engine.schedule(spec, async (at) => {
        fired.push(`old ${at.getTime() % 1000}`);
      });
      await until(() => fired.length >= 2);
      await engine.schedule(spec, async (at) => {
        fired.push(`new ${at.toISOString()}`);
      });
      fired.length = 0;
      await until(() => fired.filter((entry) => entry.startsWith('new')).length >= 2);
      await engine.unschedule('often');
      await engine.unschedule('never made');
      await harness.pass(100);
      const count = fired.length;
      await harness.pass(1_500);
      expect(fired.length).toBe(count);
      expect(new Set(fired).size).toBe(count);
    });

    it('fires a time again that was under way at a crash, and none that was done', async () => {
      const fired: string[] = [];
      const hold = Promise.withResolvers<void>();
      const spec = { name: 'once', cron: '* * * * * *', timeZone: 'UTC' };
      await engine.schedule(spec, async (at) => {
        fired.push(at.toISOString());
        if (fired.length === 2) await hold.promise;
      });
      await until(() => fired.length === 2);
      await harness.crash(engine);
      await harness.pass(1_100);
      const again: string[] = [];
      await open();
      await engine.schedule(spec, async (at) => {
        again.push(at.toISOString());
      });
      await until(() => again.length >= 3);
      hold.resolve();
      expect(again).not.toContain(fired[0]);
      expect(new Set(again).size).toBe(again.length);
    });

    it('refuses a schedule that cannot be read', async () => {
      const fire = async () => undefined;
      const wrong = { name: 'wrong', cron: 'every day', timeZone: 'UTC' };
      await expect(engine.schedule(wrong, fire)).rejects.toMatchObject({ code: 'input-invalid' });
      const nowhere = { name: 'wrong', cron: '0 3 * * *', timeZone: 'Mars/Olympus' };
      await expect(engine.schedule(nowhere, fire)).rejects.toMatchObject({ code: 'input-invalid' });
    });
  });
}
