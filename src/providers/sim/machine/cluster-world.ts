// Shows the machines of the simulated world to the simulated cluster, and keeps the cluster's objects. Faults and
// ceilings of the provider do not apply: a kubelet is not a caller of the provider.
import { stillThere } from '../../../cloud/state/cloud.ts';
import { readModel } from '../../../cloud/state/models.ts';
import type { MachineRow } from '../../../cloud/state/rows.ts';
import type { ClusterWorld } from '../../../ports/kube/world.ts';
import type { PoolModel } from '../../../ports/provider/pools.ts';
import type { SimTiming } from '../world/context.ts';
import { readTraits } from '../world/traits.ts';
import { healthOf } from './boot.ts';

const prefix = 'kube/';

export function clusterWorld(timing: SimTiming): ClusterWorld {
  const { world } = timing;
  return {
    machines: (name) =>
      world.transaction(() => {
        const models = new Map<string, PoolModel>();
        const rows = world.all<MachineRow>(
          `SELECT * FROM machine WHERE pool IS NOT NULL AND ${stillThere} ${name === undefined ? '' : 'AND name = ?'}`,
          ...[world.time(), ...(name === undefined ? [] : [name])],
        );
        return rows.map((row) => {
          const key = row.diskModel ?? '';
          const model = models.get(key) ?? readModel(world, key);
          models.set(key, model);
          const { image, version, digest } = model;
          return {
            ...{ name: row.name, machineId: row.machineId, pool: row.pool ?? '', image, version, digest },
            ready: row.deletedAt === null && healthOf(timing, row) === 'healthy',
            kubernetes: readTraits(row.traits).kubernetes,
          };
        });
      }),
    objects: () =>
      world.transaction(() => {
        const kept = world.all<{ readonly name: string; readonly value: string }>(
          `SELECT name, value FROM fact WHERE name >= ? AND name < ?`,
          ...[prefix, 'kube0'],
        );
        return new Map(kept.map(({ name, value }) => [name.slice(prefix.length), value]));
      }),
    keep: (key, object) =>
      world.transaction(() => {
        if (object === undefined) world.run('DELETE FROM fact WHERE name = ?', `${prefix}${key}`);
        else world.setFact(`${prefix}${key}`, object);
      }),
  };
}
