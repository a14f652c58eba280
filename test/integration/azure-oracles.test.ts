// Replays recorded conversations with Azure to the emulator: status, headers and shape must be the same.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Exchange, replay } from '../support/azure/replay.ts';
import misses from './azure-oracles-misses.json' with { type: 'json' };

const oracles = process.env.IMAGO_AZURE_ORACLES;

test.skipIf(oracles === undefined)(
  'recorded conversations with Azure have the same status, headers and shape',
  { timeout: 240_000 },
  async () => {
    const folder = join(oracles ?? '', 'conversations');
    const found: Record<string, string> = {};
    const counts: string[] = [];
    let total = 0;
    for (const file of readdirSync(folder).sort()) {
      const exchanges = readFileSync(join(folder, file), 'utf8').trim().split('\n');
      const differences = await replay(exchanges.map((line) => JSON.parse(line) as Exchange));
      const missed = [...differences].filter(([, difference]) => difference !== undefined);
      for (const [index, difference] of missed) found[`${file}:${index + 1}`] = difference ?? '';
      counts.push(`${file}: ${differences.size - missed.length} of ${differences.size}`);
      total += differences.size;
    }
    console.log(`${counts.join('\n')}\n${total - Object.keys(found).length} of ${total} exchanges match`);
    expect(Object.keys(found).sort(), JSON.stringify(found, null, 1)).toEqual(Object.keys(misses).sort());
    expect(total).toBeGreaterThan(480);
    expect(Object.keys(found).length / total).toBeLessThan(0.1);
  },
);
