// Check a recipe.
import { argumentOr, type CommandSpec } from '../command.ts';
import { readRecipe } from '../read-recipe.ts';

export const command: CommandSpec = {
  summary: 'Check a recipe against its schema',
  args: [{ name: 'FILE', what: 'the recipe (default: imago.yaml)', optional: true, completes: 'file' }],
  examples: [['imago recipe check', 'says line and column of the first mistake']],
  async run(invocation) {
    const file = argumentOr(invocation, 'FILE', 'imago.yaml');
    const recipe = await readRecipe(file);
    const client = await invocation.client();
    const plan = await client.plan('createBuild', { body: { recipe, fileName: file } });
    invocation.out.thing({ file, ok: true, plan: plan.plan }, file, () => [`${file} is a good recipe`]);
  },
};
