// Lock, build and seal a candidate.
import { argumentOr, type CommandSpec, text } from '../command.ts';
import { readRecipe } from '../read-recipe.ts';
import { operationFlags, runOperation } from '../run-operation.ts';

export const command: CommandSpec = {
  summary: 'Lock a recipe, build it and seal a candidate',
  details: 'The same lock gives the same version back: nothing is built or numbered twice.',
  args: [{ name: 'FILE', what: 'the recipe (default: imago.yaml)', optional: true, completes: 'file' }],
  flags: {
    provider: { what: 'who builds', value: 'NAME' },
    bump: {
      what: 'which part of the number grows, under semver',
      value: 'PART',
      choices: ['patch', 'minor', 'major'],
    },
    ...operationFlags,
  },
  examples: [
    ['imago build', 'build imago.yaml in this folder'],
    ['imago build node.yaml --json', 'build another recipe, for a script'],
  ],
  async run(invocation) {
    const file = argumentOr(invocation, 'FILE', 'imago.yaml');
    const recipe = await readRecipe(file);
    const provider = text(invocation, 'provider');
    const bump = text(invocation, 'bump') as 'patch' | 'minor' | 'major' | undefined;
    await runOperation(invocation, {
      endpoint: 'createBuild',
      input: { body: { recipe, fileName: file, ...(provider && { provider }), ...(bump && { bump }) } },
      name: (result) => `${result.image}:${result.version}`,
      lines: (result) => [
        `${result.image}:${result.version} ${result.reused ? 'exists already: nothing changed' : 'sealed as a candidate'}`,
        `digest ${result.digest}`,
      ],
    });
  },
};
