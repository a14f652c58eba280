// A large catalogue through the real daemon on its embedded PostgreSQL: 200 images, 50,000 versions, 5,000 pools,
// 200,000 nodes, 100,000 moves. Prints one line of JSON for each measure.
import { readFileSync } from 'node:fs';
import { createClient } from '../../src/api/client/client.ts';
import { openStore } from '../../src/database/open-database.ts';
import { findDaemon } from '../../src/launcher/process.ts';
import { largeCatalogue, loadCatalogue } from '../support/catalogue-load.ts';
import { createImago } from '../support/imago.ts';
import { startStoreBench } from '../support/store.ts';
import { printRow } from './row.ts';

const rounds = 1000;
const postgres = await startStoreBench();
const imago = await createImago();

async function millisecondsOf(work: (index: number) => Promise<unknown>, times: number): Promise<number[]> {
  const taken: number[] = [];
  for (let index = 0; index < times; index += 1) {
    const began = performance.now();
    await work(index);
    taken.push(performance.now() - began);
  }
  return taken.toSorted((a, b) => a - b);
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function row(what: string, ms: number, limitMs: number, more = ''): void {
  printRow({
    what,
    value: `${ms < 100 ? ms.toFixed(1) : ms.toFixed(0)} ms${more}`,
    bar: `under ${limitMs < 1000 ? `${limitMs} ms` : `${limitMs / 1000} s`}`,
    met: ms < limitMs,
  });
}

const image = (index: number) => `image-${String(index % largeCatalogue.images).padStart(3, '0')}`;

try {
  const url = await postgres.freshDatabase();
  await loadCatalogue(url, 0, largeCatalogue);
  const env = { IMAGO_DATABASE_URL: url };
  const up = await imago.run(['up', '--provider', 'sim'], { env });
  if (up.code !== 0) throw new Error(up.err);
  const daemon = await findDaemon(imago.home);
  if (daemon === undefined) throw new Error('The daemon went away.');
  const client = createClient({ socketPath: daemon.socket });
  const store = openStore({ url, epoch: 0 });

  const resolving = (index: number) => store.catalogue.resolve(`${image(index)}:production`);
  await millisecondsOf(resolving, 100);
  const resolved = await millisecondsOf(resolving, rounds);
  row(
    'resolve NAME:CHANNEL in the daemon, p99',
    at(resolved, 0.99),
    5,
    ` (median ${at(resolved, 0.5).toFixed(1)} ms)`,
  );

  const asked = await millisecondsOf(
    (index) => client.call('resolve', { query: { reference: `${image(index)}:production` } }),
    rounds,
  );
  printRow({
    what: 'the same over the API, p99',
    value: `${at(asked, 0.99).toFixed(1)} ms (median ${at(asked, 0.5).toFixed(1)} ms)`,
    bar: 'none',
    met: true,
  });

  const which = await millisecondsOf(
    (index) =>
      client.call('whichNode', {
        path: { node: `pool-${String((index * 37) % largeCatalogue.pools).padStart(4, '0')}-000007` },
        query: {},
      }),
    200,
  );
  row('node which over the API, p99', at(which, 0.99), 20);

  const path = { image: image(0), version: '1.0.0' };
  let descendants = 0;
  const descent = await millisecondsOf(async () => {
    descendants = (await client.call('listDescendants', { path })).items.length;
  }, 5);
  row(`descendants of a common ancestor (${descendants}), median`, at(descent, 0.5), 300);

  let going = 0;
  const prune = await millisecondsOf(async () => {
    going = (await client.call('planPrune', { query: {} })).going;
  }, 3);
  row(`prune plan (${going} of 50000 can go), median`, at(prune, 0.5), 3000);

  const limits = await millisecondsOf(() => client.call('showLimits'), 5);
  row('limits, median', at(limits, 0.5), 1000);

  const exported = ['catalog', 'export', `${imago.folder}/site`, '--image', image(0), '--image', image(1)];
  let pages = 0;
  const exporting = await millisecondsOf(async () => {
    pages = (await imago.json<{ versions: number }>(exported, { env })).versions;
  }, 3);
  row(
    `export of the catalogue of two images (${pages} versions) by the command, median`,
    at(exporting, 0.5),
    5000,
  );

  const status = readFileSync(`/proc/${daemon.pid}/status`, 'utf8');
  const peak = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
  printRow({
    what: `the daemon's largest resident size meanwhile`,
    value: `${peak.toFixed(0)} MB`,
    bar: 'under 300 MB',
    met: peak < 300,
  });
  client.close();
  await store.close();
} finally {
  await imago.end();
  await postgres.stop();
}
