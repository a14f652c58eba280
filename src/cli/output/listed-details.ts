// Lists the causes of an error, one per line: its message has only the first.
import type { ImagoError } from '../../domain/error/imago-error.ts';

/** Human-readable lists among the details of errors. */
const lists = ['problems', 'missing', 'moved', 'changes'] as const;
const maxLines = 20;

/** Returns nothing if the message is complete. */
export function listedDetails({ details }: Pick<ImagoError, 'details'>): readonly string[] {
  return lists.flatMap((key) => {
    const items: unknown = details?.[key];
    if (!Array.isArray(items) || items.length < 2) return [];
    const more = items.length - maxLines;
    return [...items.slice(0, maxLines).map(lineOf), ...(more > 0 ? [`and ${more} more`] : [])];
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
