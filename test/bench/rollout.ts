// A rollout of ten thousand simulated nodes, one in a hundred of which cannot be moved, and the plan of one over five
// thousand. The engine and its records are in memory, the nodes in the simulated provider; the pool has no cluster.

import { rollout } from '../../src/domain/rollout/operations.ts';
import { planRollout } from '../../src/operations/rollout/target.ts';
import { createProduct } from '../support/product.ts';
import { startStoreBench } from '../support/store.ts';
import { bestOf } from './best-of.ts';
import { printRow } from './row.ts';

const nodes = Number(process.env.IMAGO_BENCH_NODES ?? 10_000);
const faulty = nodes / 100;
const planned = 5_000;

const bench = await startStoreBench();
const product = await createProduct(await bench.freshStore());

async function run(kind: string, subject: string, input: object): Promise<void> {
  const ended = await product.run({ kind, subject, input: { ...input } });
  if (ended.state !== 'succeeded') throw new Error(`${kind}: ${ended.error?.message}`);
}

async function makePool(name: string, capacity: number): Promise<void> {
  await run('pool-create', `pool/${name}`, { name, reference: 'node:1.0.0', capacity });
  await run('pool-set-cluster', `pool/${name}`, { name });
}

for (const version of ['1.7.24', '1.7.25']) {
  const components = [{ name: 'containerd', version }];
  await run('build', 'image/node', { recipe: { name: 'node', numbering: 'semver', components } });
}
await makePool('plan', planned);
const options = { signal: new AbortController().signal, epoch: 0 };
const input = rollout.input.parse({ name: 'plan', reference: 'node:1.0.1' });
const planMs = await bestOf(5, () => planRollout({ ...product.deps, input, call: options }));
printRow({
  what: `plan of a rollout over ${planned} nodes`,
  value: `${planMs.toFixed(0)} ms`,
  bar: 'under 1 s',
  met: planMs < 1000,
});

await makePool('big', nodes);
await product.sim.control.addFault({
  ...{ kind: 'fails-later', call: 'pools.upgradeNode', name: 'big/*37', count: 'always' },
});
const began = performance.now();
await run('rollout', 'pool/big', {
  ...{ name: 'big', reference: 'node:1.0.1', maxUnavailable: '10%', maxFailed: '2%', bake: '0s' },
});
const seconds = (performance.now() - began) / 1000;
const peakMb = process.resourceUsage().maxRSS / 1024;
const big = product.sim.world.view().nodes.filter(({ pool }) => pool === 'big');
const moved = big.filter(({ version, health }) => version === '1.0.1' && health === 'healthy').length;
const end = `${moved} of ${big.length} moved, ${big.length - moved} reported as failed`;
const isRight = big.length === nodes && moved === nodes - faulty;
printRow({
  what: `simulated rollout of ${nodes} nodes, 1 % faulty`,
  value: `${seconds.toFixed(1)} s, ${end}`,
  bar: 'the right end state, under 60 s',
  met: isRight && seconds < 60,
});
printRow({
  what: 'largest resident size of the process meanwhile, with the simulated cloud and the engine',
  value: `${peakMb.toFixed(0)} MB`,
  bar: 'under 400 MB',
  met: peakMb < 400,
});
await product.close();
await bench.stop();
