// Registered clusters, on PostgreSQL.
import { type ClusterRecord, clusterRecord } from '../domain/cluster/record.ts';
import { ImagoError } from '../domain/error/imago-error.ts';
import { toIso } from '../domain/value/time.ts';
import type { ClusterBook } from '../ports/database/clusters.ts';
import { pools } from './catalog/records.ts';
import type { Database } from './connection/database.ts';
import { records } from './connection/records.ts';

const clusters = records('clusters', clusterRecord, { by: 'added_by' });

export function createClusterBook(database: Database, { now }: { readonly now: () => number }): ClusterBook {
  return {
    list: () => database.read((tables) => clusters.all(tables, {}, 'name')),
    get: (name) => database.read((tables) => clusters.find(tables, { name })),

    add: (cluster) =>
      database.write(async ({ tables, emit }) => {
        const { name, uid, by } = cluster;
        const known = await clusters.find(tables, { name }, 'lock');
        if (known !== undefined && known.uid !== uid)
          throw exists(`Cluster ${name} is another cluster`, known);
        const row = clusters.row({ ...cluster, at: toIso(new Date(now())) });
        const added =
          known === undefined
            ? await clusters.insertIfNew(tables, row)
            : await clusters.put(tables, row, 'name');
        if (added === undefined) {
          const [other] = await clusters.all(tables, { uid });
          throw exists(`The cluster is registered as ${other?.name ?? name}`, other);
        }
        emit({ type: 'cluster.added', subject: `cluster/${name}`, data: { by } });
        return added;
      }),

    remove: (name) =>
      database.write(async ({ tables, emit }) => {
        await clusters.find(tables, { name }, 'lock');
        const users = await pools.all(tables, { cluster: name }, 'name');
        if (users.length > 0) {
          const names = users.map((pool) => pool.name).join(', ');
          throw new ImagoError('cluster-in-use', `Pools belong to cluster ${name}: ${names}.`);
        }
        const existed = await clusters.delete(tables, { name });
        if (existed) emit({ type: 'cluster.removed', subject: `cluster/${name}`, data: {} });
        return existed;
      }),
  };
}

function exists(what: string, known: ClusterRecord | undefined): ImagoError {
  const { name = 'NAME', server } = known ?? {};
  return new ImagoError('cluster-exists', `${what} already${server === undefined ? '' : `, at ${server}`}.`, {
    hint: `Choose another name, or remove it with \`imago cluster remove ${name}\`.`,
  });
}
