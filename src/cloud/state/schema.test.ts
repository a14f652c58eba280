import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../../test/support/sim/virtual-clock.ts';
import { createSimProvider } from '../../providers/sim/provider.ts';
import { openCloudState } from './schema.ts';

const folders: string[] = [];

function openWorld(file: string | undefined) {
  return openCloudState(file, { name: 'The simulated world', unusable: 'sim-world-unusable' });
}

function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'imago sim ü-'));
  folders.push(folder);
  return join(folder, 'made', 'on the way', 'world.sqlite');
}

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

describe('a transaction', () => {
  it('that throws leaves nothing', () => {
    const world = openWorld(undefined);
    expect(() =>
      world.transaction(() => {
        world.setFact('a', '1');
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(world.fact('a')).toBeUndefined();
    world.transaction(() => world.setFact('a', '2'));
    expect(world.fact('a')).toBe('2');
  });

  it('keeps what came before an attempt that failed in it', () => {
    const world = openWorld(undefined);
    world.transaction(() => {
      world.setFact('before', '1');
      expect(() =>
        world.attempt(() => {
          world.setFact('inside', '1');
          throw new Error('no');
        }),
      ).toThrow('no');
      world.setFact('after', '1');
    });
    expect([world.fact('before'), world.fact('inside'), world.fact('after')]).toEqual(['1', undefined, '1']);
  });

  it('never has an earlier time than the previous one, and makes a slow clock catch up', () => {
    const file = newFile();
    const ahead = openWorld(file);
    ahead.goBy({ now: () => 5_000 });
    ahead.transaction(() => expect(ahead.time()).toBe(5_000));
    const behind = openWorld(file);
    const caught: number[] = [];
    behind.goBy({ now: () => 1_000, catchUp: (time) => caught.push(time) });
    behind.transaction(() => expect(behind.time()).toBe(5_000));
    expect(caught).toEqual([5_000]);
    ahead.close();
    behind.close();
  });
});

describe('the file', () => {
  it('is made with its folder, for its owner alone, and closed as often as one likes', () => {
    const file = newFile();
    const world = openWorld(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    world.close();
    world.close();
  });

  it('that is none of ours is named in the error and not touched', () => {
    const file = newFile();
    openWorld(file).close();
    writeFileSync(file, 'this is not a database, and long enough to be read as one'.repeat(50));
    expect(() => openWorld(file)).toThrow(file);
    expect(() => openWorld(file)).toThrow(
      expect.objectContaining({ code: 'sim-world-unusable', retryable: false }),
    );
  });

  it('that cannot be made is named in the error', () => {
    const file = newFile();
    openWorld(file).close();
    expect(() => openWorld(join(file, 'below a file', 'world.sqlite'))).toThrow(
      expect.objectContaining({ code: 'sim-world-unusable', retryable: false }),
    );
  });

  it('of another version of Imago is refused', () => {
    const file = newFile();
    openWorld(file).close();
    const database = new DatabaseSync(file);
    database.exec('PRAGMA user_version = 99');
    database.close();
    expect(() => openWorld(file)).toThrow('has layout 99');
  });

  it('on a full disk gives an error that can be tried again, and keeps what it had', () => {
    const file = newFile();
    const world = openWorld(file);
    world.transaction(() => world.setFact('kept', '1'));
    world.get('PRAGMA max_page_count = 1');
    const fill = () => world.transaction(() => world.setFact('big', 'x'.repeat(10_000_000)));
    expect(fill).toThrow(expect.objectContaining({ code: 'sim-world-unusable', retryable: true }));
    expect([world.fact('kept'), world.fact('big')]).toEqual(['1', undefined]);
    world.get('PRAGMA max_page_count = 1000000');
    fill();
    expect(world.fact('big')).toHaveLength(10_000_000);
    world.close();
  });
});

describe('a world of an earlier version', () => {
  it('is opened as it was', async () => {
    const file = newFile();
    mkdirSync(dirname(file), { recursive: true });
    const database = new DatabaseSync(file);
    database.exec(readFileSync(new URL('../../../test/support/state/sim-2.sql', import.meta.url), 'utf8'));
    database.close();
    const sim = createSimProvider({ file, clock: createVirtualClock({ start: 1_794_712_040_000 }) });
    const { galleries, versions, pools, nodes, machines, snapshots } = sim.world.view();
    expect(galleries).toEqual([{ name: 'imago', region: 'westeurope' }]);
    expect(versions).toMatchObject([
      {
        ...{ version: '1.0.0', state: 'ready', sizeBytes: expect.any(Number) },
        regions: [
          { region: 'westeurope', replicas: 2, state: 'ready' },
          { region: 'eastus', replicas: 1, state: 'ready', excludeFromLatest: true },
        ],
      },
      { version: '2.0.0', state: 'creating', source: { kind: 'snapshot', name: 'kept' } },
    ]);
    expect(pools).toMatchObject([{ name: 'web', capacity: 2, state: 'ready', region: 'westeurope' }]);
    expect(nodes).toMatchObject([
      { name: 'web-000000', state: 'ready', power: 'running', health: 'healthy', zone: '1' },
      { name: 'web-000001', state: 'ready', power: 'stopping' },
      { name: 'web-000002', state: 'deleting' },
    ]);
    expect(machines).toMatchObject([{ name: 'probe', state: 'ready', power: 'running', userData: 'u' }]);
    expect(snapshots).toMatchObject([{ name: 'kept', disk: nodes[0]?.osDisk, state: 'ready' }]);
    expect(sim.faults.list()).toMatchObject([{ call: 'pools.setModel', after: 3, seen: 0 }]);
    await sim.close();
  });
});
