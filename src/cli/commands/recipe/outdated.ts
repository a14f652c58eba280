// What is behind.

import { gatherRecipe, recipeFlags } from '../../input/read-recipe.ts';
import { table } from '../../output/table.ts';
import { performOperation } from '../../run/run-operation.ts';
import { argumentOr, type CommandSpec, isSet } from '../../spec/command.ts';

interface Behind {
  readonly kind: string;
  readonly name: string;
  readonly current: string;
  readonly newest: string;
  readonly named: boolean;
}

interface Report {
  readonly behind: readonly Behind[];
  readonly unknown: readonly { readonly name: string; readonly why: string }[];
  readonly unruled: readonly string[];
}

export const command: CommandSpec = {
  summary: 'List inputs of which there are newer versions',
  details:
    "Debian packages by the distribution's index; other components where the recipe has a rule for it.",
  args: [{ name: 'FILE', what: 'the recipe (default: imago.yaml)', optional: true, completes: 'file' }],
  flags: { ...recipeFlags, all: { what: 'also packages that the recipe does not name' } },
  examples: [['imago recipe outdated', 'what the next lock would change']],
  async run(invocation) {
    const file = argumentOr(invocation, 'FILE', 'imago.yaml');
    const client = await invocation.client();
    const { sent } = await gatherRecipe(invocation, client, file);
    const input = { body: sent };
    const ended = await performOperation(invocation, client, { endpoint: 'findOutdated', input });
    const { behind, unknown, unruled } = ended.result as unknown as Report;
    const shown = isSet(invocation, 'all') ? behind : behind.filter(({ named }) => named);
    const hidden = behind.length - shown.length;
    invocation.out.thing({ behind, unknown, unruled }, shown.map(({ name }) => name).join('\n'), () => [
      ...(shown.length === 0
        ? [nothingBehind(unknown.length + unruled.length)]
        : table(
            shown,
            {
              name: (one) => one.name,
              kind: (one) => one.kind,
              current: (one) => one.current,
              newest: (one) => one.newest,
            },
            invocation.out.style,
          )),
      ...(hidden === 0 ? [] : [`${hidden} packages that come along are behind too (--all).`]),
      ...unknown.map(({ name, why }) => `${name} could not be looked up: ${why}`),
      ...(unruled.length === 0 ? [] : [`Not looked up, for want of a rule: ${unruled.join(', ')}`]),
    ]);
  },
};

function nothingBehind(open: number): string {
  return open === 0 ? 'Nothing that the recipe names is behind.' : 'Nothing that was looked up is behind.';
}
