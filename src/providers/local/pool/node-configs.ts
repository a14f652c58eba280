// The config of local nodes while they run: what the metadata service says to each, and what its agent answers.

import { change, look } from '../../../cloud/state/call.ts';
import { readModel } from '../../../cloud/state/models.ts';
import { notFound } from '../../../cloud/state/refusals.ts';
import type { World } from '../../../cloud/state/state-file.ts';
import type { NodeConfigs } from '../../../ports/provider/node-configs.ts';
import type { LocalContext } from '../state/context.ts';
import { changeMachine, type MachineRow } from '../state/machine-rows.ts';
import { findNode, requireNode } from '../state/pool-rows.ts';

export function localNodeConfigs(context: LocalContext): NodeConfigs {
  const { world, board, work, host } = context;
  return {
    getUserData: (pool, node, options) =>
      look(context, options, () => userDataOf(world, requireNode(world, pool, node))),
    hasOwnUserData: (pool, node, options) =>
      look(context, options, () => requireNode(world, pool, node).userData !== null),
    async setUserData(pool, node, userData, options) {
      const machineId = await change(context, `the config of node ${node}`, options, () => {
        const row = requireNode(world, pool, node);
        if (userDataOf(world, row) === userData) return undefined;
        changeMachine(world, row.machineId, { userData, metadataDue: 1 });
        return row.machineId;
      });
      if (machineId !== undefined) work.machine(machineId);
    },
    async allowChange(pool, node, { cost, digest }, options) {
      const what = `a change of the config of node ${node}`;
      const { machineId } = await change(context, what, options, () => requireNode(world, pool, node));
      await host.tellAgent(machineId, { kind: 'allow', cost, digest });
    },
    getReport: (pool, node, options) =>
      look(context, options, () => {
        const row = findNode(world, pool, node);
        if (row === undefined) throw notFound(`Pool ${pool} has no node ${node}.`);
        return board.report(row.machineId)?.document;
      }),
  };
}

function userDataOf(world: World, row: MachineRow): string {
  return row.userData ?? readModel(world, row.appliedModel ?? '').nodeConfig;
}
