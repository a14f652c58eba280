// Commands for end-of-support dates.
import { keyValueLines } from '../output/table.ts';
import { group, list, write } from '../run/builders.ts';

const args = [
  { name: 'PRODUCT', description: '`kubernetes` or `image`' },
  { name: 'LINE', description: '1.37, node, or node:1.34.2' },
];
const name = ({ product, line }: { readonly product: string; readonly line: string }) => `${product} ${line}`;

export const command = group({
  list: list('listSupport', {
    summary: 'List end-of-support dates',
    examples: [['imago support list', 'List the Kubernetes calendar and the dates that were set']],
    name,
    columns: ['product', 'line', ['ends', 'endsOn'], 'source', 'by', 'note'],
  }),
  set: write('setSupport', {
    summary: 'Set the end-of-support date of a Kubernetes minor version, image, or version',
    details:
      'Imago warns 90, 30, and 7 days ahead, and deprecates the version afterwards. Nothing is deleted.',
    args,
    flags: {
      ends: { description: 'Last day of support', value: 'YYYY-MM-DD', required: true, field: 'endsOn' },
      note: { description: 'Source of the date', value: 'TEXT' },
    },
    examples: [
      ['imago support set kubernetes 1.37 --ends 2027-10-28', 'Set a date that the calendar does not have'],
    ],
    name,
    done: (date) => keyValueLines({ ...date }),
  }),
  unset: write('unsetSupport', {
    summary: 'Remove an end-of-support date',
    details: 'The date of the calendar applies again.',
    args,
    examples: [['imago support unset image node', 'Remove the date of an image']],
    name,
    done: (date) => `No date is set for ${name(date)}`,
  }),
});
