// What a node would read.
import { createHash } from 'node:crypto';
import { downgradeConfig } from '../../../domain/node-config/convert.ts';
import { maxUserDataBytes } from '../../../domain/node-config/read-node-config.ts';
import { renderNodeConfig } from '../../../domain/node-config/render.ts';
import { readNodeConfigFile } from '../../input/read-node-config-file.ts';
import { argument, type CommandSpec, readCount, text } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Print what a node reads: defaults of the pool and the node filled in, in one form',
  details:
    'Needs no daemon. The same input gives the same bytes. Secrets that stand in the file by their names stay names.',
  args: [{ name: 'FILE', what: 'the node config, YAML or JSON', completes: 'file' }],
  flags: {
    pool: { what: 'the pool that the node belongs to', value: 'NAME' },
    node: { what: 'the name of the node', value: 'NAME' },
    'schema-version': { what: 'in an older version, for an image that reads no newer one', value: 'N' },
  },
  examples: [['imago node config render web.yaml --pool web --node web-000001', 'what web-000001 reads']],
  async run(invocation) {
    const { config } = await readNodeConfigFile(argument(invocation, 'FILE'));
    const [pool, name] = [text(invocation, 'pool'), text(invocation, 'node')];
    const facts = { ...(pool === undefined ? {} : { pool }), ...(name === undefined ? {} : { name }) };
    const older = text(invocation, 'schema-version');
    if (older !== undefined) {
      const document = downgradeConfig(config, readCount(invocation, 'schema-version'));
      invocation.out.thing(document, older, () => [JSON.stringify(document, null, 2)]);
      return;
    }
    const rendered = renderNodeConfig(config, facts, undefined);
    const digest = createHash('sha256').update(rendered.text).digest('hex');
    const bytes = Math.ceil(Buffer.byteLength(rendered.text) / 3) * 4;
    invocation.out.thing({ digest, userDataBytes: bytes, config: rendered.config }, digest, () => [
      JSON.stringify(rendered.config, null, 2),
    ]);
    invocation.out.note(`sha256 ${digest}, ${bytes} of ${maxUserDataBytes} bytes of instance metadata`);
  },
};
