// An error with many causes tells the first in its sentence; here are all of them, one a line.
import type { ImagoError } from '../../domain/error/imago-error.ts';

/** The lists among the details of errors that are meant for people. */
const lists = ['problems', 'missing', 'moved', 'changes'] as const;
const mostLines = 20;

/** Nothing when the sentence says it all. */
export function listedDetails({ details }: Pick<ImagoError, 'details'>): readonly string[] {
  return lists.flatMap((key) => {
    const items: unknown = details?.[key];
    if (!Array.isArray(items) || items.length < 2) return [];
    const more = items.length - mostLines;
    return [...items.slice(0, mostLines).map(lineOf), ...(more > 0 ? [`and ${more} more`] : [])];
  });
}

function lineOf(item: unknown): string {
  if (typeof item !== 'object' || item === null) return String(item);
  const { file, line, column, path, message, hint } = item as Readonly<Record<string, unknown>>;
  if (typeof message !== 'string') return JSON.stringify(item);
  const place = line === undefined ? path : [file, line, column].filter((one) => one !== undefined).join(':');
  const where = place === undefined || place === '' ? '' : `${String(place)}: `;
  return `${where}${message}${typeof hint === 'string' ? ` (${hint})` : ''}`;
}
