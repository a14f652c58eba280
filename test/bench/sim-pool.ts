// A simulated pool of 10,000 nodes through the real daemon: made, listed page by page, resolved; with the
// daemon's largest resident size. Prints one line of JSON for each measure.
import { readFileSync } from 'node:fs';
import { createClient } from '../../src/api/client/client.ts';
import { findDaemon } from '../../src/launcher/process.ts';
import { createImago, recipe } from '../support/imago.ts';
import { printRow } from './row.ts';

const nodes = 10_000;
const imago = await createImago();
try {
  await imago.writeFile('imago.yaml', recipe);
  const { version } = await imago.json<{ version: string }>(['build']);
  await imago.json(['test', `node:${version}`]);
  await imago.json(['channel', 'promote', `node:${version}`, '--to', 'production', '--reason', 'bench']);
  const daemon = await findDaemon(imago.home);
  if (daemon === undefined) throw new Error('The daemon went away.');
  const client = createClient({ socketPath: daemon.socket });

  const began = performance.now();
  await imago.json(['pool', 'create', 'big', '--image', 'node:production', '--nodes', String(nodes)]);
  const made = performance.now();
  let listed = 0;
  for await (const node of client.items('listNodes', { query: { pool: 'big', limit: 500 } })) {
    if (node.version !== version || node.move === undefined)
      throw new Error(`Node ${node.name} has no record.`);
    listed += 1;
  }
  if (listed !== nodes) throw new Error(`${listed} nodes were listed, not ${nodes}.`);
  await client.call('resolve', { query: { reference: 'node:production' } });
  const seconds = (performance.now() - began) / 1000;
  const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${daemon.pid}/status`, 'utf8'))?.[1]) / 1024;
  client.close();
  printRow({
    what: `simulated pool of ${nodes} nodes: made, listed, resolved`,
    value: `${seconds.toFixed(1)} s (made in ${((made - began) / 1000).toFixed(1)} s)`,
    bar: 'under 20 s',
    met: seconds < 20,
  });
  printRow({
    what: `the daemon's largest resident size meanwhile`,
    value: `${peak.toFixed(0)} MB`,
    bar: 'under 400 MB',
    met: peak < 400,
  });
} finally {
  await imago.end();
}
