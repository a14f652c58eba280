// Check a recipe.
import { ensureImagoError } from '../../../domain/error/imago-error.ts';
import { gatherRecipe, recipeFlags } from '../../input/read-recipe.ts';
import { argumentOr, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Check a recipe against its schema',
  args: [{ name: 'FILE', what: 'the recipe (default: imago.yaml)', optional: true, completes: 'file' }],
  flags: recipeFlags,
  examples: [['imago recipe check', 'says line and column of the first mistake']],
  async run(invocation) {
    const file = argumentOr(invocation, 'FILE', 'imago.yaml');
    const client = await invocation.client();
    const { sent, shown } = await gatherRecipe(invocation, client, file);
    const { plan, unbuildable } = await client
      .plan('createBuild', { body: sent })
      .then((answer) => ({ plan: answer.plan, unbuildable: undefined }), unbuildableHere);
    const answer = { file, ok: true, versions: shown.versions, plan, ...(unbuildable && { unbuildable }) };
    invocation.out.thing(answer, file, () => [
      `${file} is a good recipe`,
      ...(unbuildable === undefined ? [] : [unbuildable]),
    ]);
  },
};

/** That nobody here can build it is no mistake of the recipe. */
function unbuildableHere(thrown: unknown) {
  const error = ensureImagoError(thrown);
  if (error.code !== 'provider-lacks') throw thrown;
  return { plan: [], unbuildable: [error.message, error.hint ?? ''].join(' ').trimEnd() };
}
