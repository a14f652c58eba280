// The configs of nodes while they run, and what their agents report.

import { notFound } from '../../domain/error/refusals.ts';
import type { NodeConfigs } from '../../ports/provider/node-configs.ts';
import { change, look } from '../state/call.ts';
import type { Cloud } from '../state/cloud.ts';
import { changeMachine, userDataOf } from '../state/machine-rows.ts';
import { findNode, requireNode } from '../state/pool-rows.ts';

export function cloudNodeConfigs(cloud: Cloud): NodeConfigs {
  const { world, executor } = cloud;
  return {
    getUserData: (pool, node, options) =>
      look(cloud, options, () => userDataOf(world, requireNode(world, pool, node))),
    hasOwnUserData: (pool, node, options) =>
      look(cloud, options, () => requireNode(world, pool, node).userData !== null),
    async setUserData(pool, node, userData, options) {
      const machineId = await change(cloud, `node ${node}`, options, ({ failure }) => {
        const row = requireNode(world, pool, node);
        if (userDataOf(world, row) === userData || failure !== undefined) return undefined;
        changeMachine(world, row.machineId, { userData, ...executor.setUserData(row, userData) });
        return row.machineId;
      });
      if (machineId !== undefined) executor.workOnMachines([machineId]);
    },
    async allowChange(pool, node, allowed, options) {
      const row = await change(cloud, `node ${node}`, options, ({ failure }) => {
        const found = requireNode(world, pool, node);
        return failure === undefined ? found : undefined;
      });
      if (row !== undefined) await executor.allowChange(row, allowed);
    },
    getReport: (pool, node, options) =>
      look(cloud, options, () => {
        const row = findNode(world, pool, node);
        if (row === undefined) throw notFound(`Pool ${pool} has no node ${node}.`);
        return executor.nodeReport(row);
      }),
  };
}
