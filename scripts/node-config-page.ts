// docs/node-config.md: every field of the node config, from the schema that checks it.
import { agentAbilities } from '../src/domain/node-config/capabilities.ts';
import {
  costInWords,
  describeFields,
  type FieldDescription,
  findField,
} from '../src/domain/node-config/describe-fields.ts';
import { describeValue } from '../src/domain/node-config/describe-value.ts';
import { maxConfigBytes, maxUserDataBytes } from '../src/domain/node-config/read-node-config.ts';
import { schemaRelease } from '../src/domain/node-config/schema.ts';
import { agentbakerFields } from './agentbaker-fields.ts';

const intro = `# Node config ${schemaRelease}

The node config is the one document that tells a node what to be. Nodes read it from instance metadata (\`userData\`) and from nowhere else; their agent checks it, plans, applies, verifies and reports. It can change while a node runs. People write it in YAML or JSON; nodes get JSON.

\`\`\`sh
imago node config validate examples/node-config/cluster.yaml
imago node config diff examples/node-config/cluster.yaml examples/node-config/cluster-next.yaml
imago node config explain kubelet.maxPods
\`\`\`

This page and [node-config.schema.json](node-config.schema.json) are generated from \`src/domain/node-config\` by \`npm run generate\`.

## What a change costs

| cost | what happens on a node that runs |
|---|---|
| \`live\` | applied at once; nothing restarts |
| \`restart\` | applied at once; services that read it restart, containers go on. With \`policy.restart: hold\` it is reported and held until the next boot |
| \`drain\` | the node waits, with the config that it has, until it is cordoned and drained |
| \`reimage\` | the node keeps the config that it has until it gets a new disk |

A node is told when its document changes, and looks at once. \`imago node config show NODE\` tells what is in force by its digest, what waits, and for what; \`imago node config allow NODE\` lets a node go on that you have drained, or whose services may restart.

A document is applied as a whole or not at all: it costs what its dearest change costs. On a node that has no config yet nothing has a cost. Entries of \`files\`, \`units\` and \`hotfixes\` say their own cost. A field that is absent is its default, so writing a default down changes nothing.

A node's config has three layers: that of its pool, what the node has of its own (\`imago node config set NODE\`), and hotfixes. A change of the pool's config reaches a node with its own config as a merge: what differs from the pool stays as it is on the node, and everything else changes. Setting a document that does not have \`hotfixes\` leaves the hotfixes; \`hotfixes: []\` removes them. \`--dry-run\` lists what each node keeps. A node's own config ends when it gets a new disk, or when you set the document of its pool.

## What holds between versions

- Old configs work on new images: the agent reads every version of the document that Imago ever released.
- A new config on an old image: rendering adds to \`requires\` what the fields in use need of the image. An image that lacks one of them refuses the whole document and says which. A field without such a need that an older agent does not know is passed over and reported.
- Where people write, an unknown field is a mistake, with the nearest name.
- Minor releases only add fields. *Since* says which one brought a field.

## Secrets

Every process on a machine can read its instance metadata. So the only secret that the document can hold is a bootstrap token that is valid for minutes; \`kubernetes.bootstrap.identity\` needs none at all. The agent closes instance metadata to pods unless \`network.metadataForPods\` says otherwise.

What Imago stores about a pool names secrets, as \`secret:NAME\`, and never holds them. The daemon reads them from the folder \`secrets\` of its state folder, one file each that nobody else can read, when a config goes to the provider. They appear in no error, plan, log or record. Contents of files and units are not shown in plans either.

## Limits

Instance metadata holds ${maxUserDataBytes} bytes of base64, which is ${maxConfigBytes} bytes of JSON. Large files belong into the image.

## Abilities

An image says what it can do in \`/usr/lib/imago/abilities.json\`. The agent of this release can do: ${agentAbilities()
  .abilities.map((name) => `\`${name}\``)
  .join(', ')}. \`requires\` may also name \`component:NAME\` or \`component:NAME=VERSION\`.

Where Imago has looked into the disk of a version, a config that needs more than it has is refused before it is sent.

## Fields

All are of release 1.0 unless *since* is said. **Bold** fields must be given where the object around them is.
`;

const agentbaker = `
## Beside AgentBaker's contract

What the contract of AgentBaker's node controller (\`Configuration\`, v1) says, and where it is said here.

| theirs | field | here | remark |
|---|---|---|---|`;

export function nodeConfigPage(): string {
  const all = describeFields();
  const sections = all.filter(({ path }) => !/[.[]/.test(path));
  const lines = [intro];
  for (const section of sections) {
    lines.push(`### ${section.path}`, '', section.field.about, '');
    const below = all.filter(
      ({ path }) => path.startsWith(`${section.path}.`) || path.startsWith(`${section.path}[`),
    );
    lines.push(
      '| field | takes | default | cost | |',
      '|---|---|---|---|---|',
      row(section),
      ...below.map(row),
      '',
    );
  }
  lines.push(agentbaker.trimStart(), ...agentbakerFields.map(counterpartRow));
  return `${lines.join('\n')}\n`;
}

function row(described: FieldDescription): string {
  const { path, field, since, ability } = described;
  const name = field.required === true ? `**\`${path}\`**` : `\`${path}\``;
  const remarks = [
    field.about,
    ...(field.secret === true ? ['A secret.'] : []),
    ...(since === '1.0' ? [] : [`Since ${since}.`]),
    ...(ability === undefined || field.ability === undefined ? [] : [`Ability \`${ability}\`.`]),
  ];
  const usual = field.default === undefined ? '' : `\`${JSON.stringify(field.default)}\``;
  return `| ${[name, describeValue(field), usual, costInWords(described), remarks.join(' ')].map(cell).join(' | ')} |`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

function counterpartRow({ theirs, fields, ours, why }: (typeof agentbakerFields)[number]): string {
  for (const path of ours) {
    if (findField(path) === undefined) throw new Error(`The node config has no field ${path}.`);
  }
  const here = ours.length === 0 ? 'none' : ours.map((path) => `\`${path}\``).join(', ');
  return `| ${[theirs, fields.map((name) => `\`${name}\``).join(', '), here, why].map(cell).join(' | ')} |`;
}
