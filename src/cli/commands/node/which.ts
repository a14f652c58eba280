// Which latest was this made from?
import { describeCommit } from '../../../domain/image/recipe-commit.ts';
import { facts } from '../../output/table.ts';
import { argument, type CommandSpec, text } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Tell which version a node was made from, and which move of the channel answered',
  args: [{ name: 'NODE', what: 'the node', completes: 'node' }],
  flags: { at: { what: 'the node that there was at this time', value: 'TIME' } },
  examples: [['imago node which web-0', 'which latest was this machine made with?']],
  async run(invocation) {
    const client = await invocation.client();
    const at = text(invocation, 'at');
    const which = await client.call('whichNode', {
      path: { node: argument(invocation, 'NODE') },
      query: at === undefined ? {} : { at },
    });
    const { moved, versionState, goneAt, source, ...made } = which;
    invocation.out.thing(which, `${which.image}@${which.digest}`, () =>
      facts({
        ...made,
        moved: moved === undefined ? undefined : `${moved.at} by ${moved.by}: ${moved.why}`,
        'version is': versionState,
        recipe: source && `at ${describeCommit(source)}`,
        gone: goneAt,
      }),
    );
  },
};
