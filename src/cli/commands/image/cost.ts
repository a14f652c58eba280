// Estimates what the copies of versions in galleries cost.
import { parse } from 'yaml';
import { type CopyCost, costOf, readPrices, totalOf } from '../../../domain/cost/cost.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { formatBytes } from '../../../domain/value/bytes.ts';
import { readText } from '../../input/read-text.ts';
import { type Columns, table } from '../../output/table.ts';
import { type CommandSpec, text } from '../../spec/command.ts';
import { usage } from '../../spec/parse.ts';

export const cost: CommandSpec = {
  summary: 'Estimate the monthly cost of storing versions in galleries',
  details:
    'A copy costs its size, times its replicas in a region, times the price of a GiB there. The price file is YAML: `currency: EUR`, `gibMonth: 0.05`, and optionally `regions: {westeurope: 0.06}`. Sizes are those that galleries report: whole disks.',
  args: [
    { name: 'IMAGE', description: 'Name of the image (default: all)', optional: true, completes: 'image' },
  ],
  flags: {
    prices: { description: 'Price file (required)', value: 'FILE', completes: 'file' },
  },
  examples: [['imago image cost node --prices prices.yaml', 'Show what each version of one image costs']],
  async run(invocation) {
    const file = text(invocation, 'prices');
    if (file === undefined) throw usage('The flag --prices FILE is missing.', 'image cost');
    const prices = readPrices(parsed(await readText(file), file), file);
    const image = invocation.args.IMAGE;
    const client = await invocation.client();
    const { items } = await client.call('listCopies', { query: image === undefined ? {} : { image } });
    const costs = items.map((copy) => costOf(copy, prices));
    const total = totalOf(costs);
    const { currency } = prices;
    invocation.out.thing({ items: costs, total, currency }, String(total), () => [
      ...table(costs, columns(currency), invocation.out.style),
      `Total: ${total.toFixed(2)} ${currency} a month${unknownIn(costs)}`,
    ]);
  },
};

function parsed(content: string, file: string): unknown {
  try {
    return parse(content, { maxAliasCount: 10 });
  } catch (cause) {
    throw new ImagoError('input-invalid', `${file} is not valid YAML.`, { cause });
  }
}

function columns(currency: string): Columns<CopyCost> {
  return {
    gallery: ({ gallery }) => gallery,
    image: ({ image }) => image,
    version: ({ version }) => version,
    size: ({ sizeBytes }) => (sizeBytes === undefined ? undefined : formatBytes(sizeBytes)),
    replicas: ({ replicas }) => String(replicas),
    [`${currency} a month`]: ({ cost: amount }) => amount?.toFixed(2),
  };
}

function unknownIn(costs: readonly CopyCost[]): string {
  const count = costs.filter((one) => one.cost === undefined).length;
  return count === 0 ? '' : `, without ${count} copies whose size is unknown`;
}
