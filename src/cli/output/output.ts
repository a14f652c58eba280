// Prints results: tables, one JSON document, or bare names for pipes. Results go to standard output, everything else to
// standard error.

import type { ImagoError } from '../../domain/error/imago-error.ts';
import { listedDetails } from './listed-details.ts';
import type { Columns, Style } from './table.ts';
import { table } from './table.ts';

export type Format = 'table' | 'json' | 'name';

export interface Output {
  readonly format: Format;
  readonly quiet: boolean;
  /** Whether progress can be drawn, because standard error is a terminal. */
  readonly interactive: boolean;
  /** Prints one thing: a JSON document, its name, or lines. */
  thing(value: object, name: string, lines: () => readonly string[]): void;
  /** Prints a list: `{"items", "next"}`, names, or a table. */
  list<T extends object>(page: ListPage<T>, name: (item: T) => string, columns: Columns<T>): void;
  /** Prints a remark, unless --quiet is set. */
  note(line: string): void;
  error(error: ImagoError): void;
  readonly style: Style;
}

export interface ListPage<T> {
  readonly items: readonly T[];
  readonly next?: string | undefined;
}

export interface Streams {
  readonly out: { write(text: string): unknown; readonly isTTY?: boolean | undefined };
  readonly err: { write(text: string): unknown; readonly isTTY?: boolean | undefined };
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function createOutput(format: Format, quiet: boolean, streams: Streams): Output {
  const { out, err } = streams;
  const colors =
    out.isTTY === true && err.isTTY === true && !streams.env.NO_COLOR && streams.env.TERM !== 'dumb';
  const style = createStyle(colors);
  const print = (lines: readonly string[]) => lines.length > 0 && out.write(`${lines.join('\n')}\n`);
  return {
    format,
    quiet,
    interactive: err.isTTY === true && !quiet && format !== 'json' && streams.env.TERM !== 'dumb',
    style,
    thing(value, name, lines) {
      if (format === 'json') print([JSON.stringify(value, null, 2)]);
      else if (format === 'name') print([name]);
      else print(lines());
    },
    list(page, name, columns) {
      if (format === 'json') print([JSON.stringify({ items: page.items, next: page.next ?? null }, null, 2)]);
      else if (format === 'name') print(page.items.map(name));
      else if (page.items.length === 0) err.write(quiet ? '' : 'No results.\n');
      else print(table(page.items, columns, style));
      if (format === 'table' && page.next !== undefined && !quiet) err.write(`More: --cursor ${page.next}\n`);
    },
    note(line) {
      if (!quiet) err.write(`${line}\n`);
    },
    error(error) {
      if (format === 'json') {
        const { code, message, hint, details } = error.toRecord();
        print([JSON.stringify({ error: { code, message, hint, details } }, null, 2)]);
        return;
      }
      err.write(`${style.red('error:')} ${error.message}\n`);
      for (const line of listedDetails(error)) err.write(`  ${line}\n`);
      if (error.hint !== undefined) err.write(`${style.dim('hint:')} ${error.hint}\n`);
    },
  };
}

function createStyle(colors: boolean): Style {
  const paint = (code: number) => (text: string) => (colors ? `\u001b[${code}m${text}\u001b[0m` : text);
  return { bold: paint(1), dim: paint(2), red: paint(31), green: paint(32), yellow: paint(33) };
}
