// Check a recipe.
import { argumentOr, type CommandSpec } from '../command.ts';
import { gatherRecipe, recipeFlags } from '../read-recipe.ts';

export const command: CommandSpec = {
  summary: 'Check a recipe against its schema',
  args: [{ name: 'FILE', what: 'the recipe (default: imago.yaml)', optional: true, completes: 'file' }],
  flags: recipeFlags,
  examples: [['imago recipe check', 'says line and column of the first mistake']],
  async run(invocation) {
    const file = argumentOr(invocation, 'FILE', 'imago.yaml');
    const client = await invocation.client();
    const { sent, shown } = await gatherRecipe(invocation, client, file);
    const plan = await client.plan('createBuild', { body: sent });
    invocation.out.thing({ file, ok: true, versions: shown.versions, plan: plan.plan }, file, () => [
      `${file} is a good recipe`,
    ]);
  },
};
