// What a build would make anew, and why.

import { gatherRecipe, recipeFlags } from '../../input/read-recipe.ts';
import { performOperation } from '../../run/run-operation.ts';
import { argumentOr, type CommandSpec } from '../../spec/command.ts';

interface Layer {
  readonly name: string;
  readonly state: 'hit' | 'miss';
  readonly changes: readonly { readonly input: string; readonly before: string; readonly after: string }[];
}

interface Why {
  readonly versions: readonly { readonly kubernetes?: string; readonly layers: readonly Layer[] }[];
}

export const command: CommandSpec = {
  summary: 'Tell which layers a build would make anew, and which inputs are why',
  args: [{ name: 'FILE', what: 'the recipe (default: imago.yaml)', optional: true, completes: 'file' }],
  flags: recipeFlags,
  examples: [['imago recipe why-rebuild', 'hit or miss for each layer, with what changed']],
  async run(invocation) {
    const file = argumentOr(invocation, 'FILE', 'imago.yaml');
    const client = await invocation.client();
    const { sent } = await gatherRecipe(invocation, client, file);
    const input = { body: sent };
    const ended = await performOperation(invocation, client, { endpoint: 'explainRebuild', input });
    const why = ended.result as unknown as Why;
    const missed = why.versions.flatMap(({ layers }) => layers.filter(({ state }) => state === 'miss'));
    invocation.out.thing(why, [...new Set(missed.map(({ name }) => name))].join('\n'), () =>
      why.versions.flatMap(({ kubernetes, layers }) => [
        ...(kubernetes === undefined ? [] : [invocation.out.style.bold(`Kubernetes ${kubernetes}`)]),
        ...layers.flatMap(({ name, state, changes }) => [
          `${state === 'hit' ? invocation.out.style.green('hit ') : invocation.out.style.yellow('miss')} ${name}`,
          ...changes.map(({ input: what, before, after }) => `       ${what}: ${before} → ${after}`),
        ]),
      ]),
    );
  },
};
