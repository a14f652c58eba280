// The whole recipe, put together.

import { gatherRecipe, recipeFlags } from '../../input/read-recipe.ts';
import { argumentOr, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Print the whole recipe, with the file and line of each value',
  args: [{ name: 'FILE', what: 'the recipe (default: imago.yaml)', optional: true, completes: 'file' }],
  flags: recipeFlags,
  examples: [['imago recipe show --overlay debug.yaml', 'what a debug build would be made of']],
  async run(invocation) {
    const file = argumentOr(invocation, 'FILE', 'imago.yaml');
    const { shown } = await gatherRecipe(invocation, await invocation.client(), file);
    invocation.out.thing(shown, shown.name, () => [shown.text.trimEnd()]);
  },
};
