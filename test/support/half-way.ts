// A process that runs one durable run of six steps and writes a line for each into a ledger. The fourth step waits
// until the file `go` stands beside the ledger, so that the process can be killed half-way.
//   node half-way.ts URL LEDGER
import { appendFileSync, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectClient, urlWithEpoch } from '../../src/database/connection/connection.ts';
import { fenceSchema } from '../../src/database/lease/fence.ts';
import { acquireLease } from '../../src/database/lease/lease.ts';
import { migrate } from '../../src/database/migrations/migrate.ts';
import { openStore } from '../../src/database/open-database.ts';
import { createDbosEngine } from '../../src/workflow/engine/dbos/engine.ts';

const [url = '', ledger = ''] = process.argv.slice(2);
const steps = ['one', 'two', 'three', 'four', 'five', 'six'];
const lease = await acquireLease({ connect: () => connectClient(url) });
await migrate({ url, epoch: lease.epoch });
const { database, journal, calls, close } = openStore({ url, epoch: lease.epoch, signal: lease.signal });
const engine = createDbosEngine({
  ...{ databaseUrl: urlWithEpoch(url, lease.epoch), calls, signal: lease.signal },
});
const ended = Promise.withResolvers<void>();

await engine.start(async (run) => {
  for (const name of steps) {
    await run.step(name, async () => {
      appendFileSync(ledger, `${name} begins\n`);
      while (name === 'four' && !existsSync(join(dirname(ledger), 'go'))) await sleep(10);
      await journal.update(run.id, { steps: { [name]: { state: 'done' } } });
      appendFileSync(ledger, `${name} done\n`);
      return null;
    });
  }
  await journal.update(run.id, { state: 'succeeded' });
  ended.resolve();
});
await fenceSchema(database, 'dbos');
const request = { id: 'run', kind: 'half-way', subject: 'test', by: 'ann', input: null, steps };
await journal.create(request, Date.now());
await engine.enqueue('run', { key: 'test' });
await ended.promise;
await engine.stop();
await close();
await lease.release();
