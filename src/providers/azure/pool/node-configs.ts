// The configs of single nodes, in their userData, and what their agents report on the serial console.
//
// Azure changes the userData of a machine, so of nodes of flexible scale sets. That of an instance of a uniform one stays as
// it is (recorded in `test_vmss_create_user_data`): such a node gets the config of its pool with an upgrade, and no other.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { splitWords } from '../../../domain/node-config/words.ts';
import type { NodeConfigs } from '../../../ports/provider/node-configs.ts';
import { actionOf, at } from '../arm/address.ts';
import type { AzureContext } from '../context.ts';
import { addressOf, isUniform, readUserData, requireInstance, writeUserData } from './nodes.ts';
import { modelConfigOf, readSet } from './scale-set.ts';
import { readConsole } from './serial-console.ts';

export function azureNodeConfigs(context: AzureContext): NodeConfigs {
  const { arm } = context;

  async function read(pool: string, name: string, signal: AbortSignal) {
    const node = await requireInstance(context, pool, name, signal);
    return { node, ...splitWords(await readUserData(context, pool, node, signal)) };
  }

  return {
    getUserData: async (pool, name, { signal }) => (await read(pool, name, signal)).config,
    hasOwnUserData: async (pool, name, { signal }) => (await read(pool, name, signal)).words.own === true,
    async setUserData(pool, name, text, { signal }) {
      const { node, config } = await read(pool, name, signal);
      if (config === text) return;
      const set = await readSet(context, pool, signal);
      const isModels = set !== undefined && modelConfigOf(set) === text;
      if (!isUniform(node))
        return writeUserData(context, node.instanceId ?? '', text, isModels ? {} : { own: true }, signal);
      const wanted = set?.properties.virtualMachineProfile?.storageProfile?.imageReference?.id;
      const isSameImage =
        node.properties.storageProfile?.imageReference?.id?.toLowerCase() === wanted?.toLowerCase();
      if (!isModels || !isSameImage) throw fixed(pool, name);
      const upgrade = actionOf(at('virtualMachineScaleSets', pool), 'manualupgrade');
      await arm.finish(await arm.post(upgrade, { instanceIds: [node.instanceId] }, signal), signal);
    },
    async allowChange(pool, name, allow, { signal }) {
      const { node, config, words } = await read(pool, name, signal);
      const { cost, digest } = words.allow ?? {};
      if (cost === allow.cost && digest === allow.digest) return;
      if (isUniform(node)) throw fixed(pool, name);
      await writeUserData(context, node.instanceId ?? '', config, { ...words, allow }, signal);
    },
    async getReport(pool, name, { signal }) {
      const node = await requireInstance(context, pool, name, signal);
      const { reports } = await readConsole(
        context,
        addressOf(pool, node),
        node.properties.vmId ?? '',
        signal,
      );
      return reports.at(-1);
    },
  };
}

function fixed(pool: string, name: string): ImagoError {
  return new ImagoError(
    'provider-lacks',
    `Azure does not change the userData of single instances of a uniform scale set: node ${name} only gets the config of pool ${pool}, and only while it has its image.`,
    {
      hint: 'End a rollout of the pool first, or use a pool that was created with `--orchestration flexible`.',
    },
  );
}
