// Prints results: tables, one JSON document, or bare names for pipes. Results go to standard output, everything else to
// standard error.

import type { ImagoError } from '../../domain/error/imago-error.ts';
import { listedDetails } from './listed-details.ts';
import type { Columns, Style } from './table.ts';
import { table } from './table.ts';

export type Format = 'table' | 'wide' | 'json' | 'yaml' | 'name';

/** Writes a document in a format other than JSON. It is loaded on demand. */
export type Stringify = (value: unknown) => string;

export interface Output {
  readonly format: Format;
  readonly quiet: boolean;
  /** Whether results are whole documents, for programs. */
  readonly isDocument: boolean;
  /** Whether the reader of standard output is a program. */
  readonly piped: boolean;
  /** Whether progress can be drawn, because standard error is a terminal. */
  readonly interactive: boolean;
  /** Prints one thing: a JSON document, its name, or lines. */
  thing(value: object, name: string, lines: () => readonly string[]): void;
  /** Prints a list: `{"items", "next"}`, names, or a table. */
  list<T extends object>(page: ListPage<T>, name: (item: T) => string, columns: Columns<T>): void;
  /** Prints items that changed since the list was printed: rows without a header, or one document each. */
  changed<T extends object>(items: readonly T[], name: (item: T) => string, columns: Columns<T>): void;
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

export function createOutput(format: Format, quiet: boolean, streams: Streams, toYaml?: Stringify): Output {
  const { out, err } = streams;
  const colors =
    out.isTTY === true && err.isTTY === true && !streams.env.NO_COLOR && streams.env.TERM !== 'dumb';
  const style = createStyle(colors);
  const print = (lines: readonly string[]) => lines.length > 0 && out.write(`${lines.join('\n')}\n`);
  const isDocument = format === 'json' || format === 'yaml';
  const printDocument = (value: unknown) => {
    const plain = JSON.stringify(value, null, 2);
    print([format === 'yaml' && toYaml !== undefined ? toYaml(JSON.parse(plain)).trimEnd() : plain]);
  };
  return {
    format,
    quiet,
    isDocument,
    piped: out.isTTY !== true,
    interactive: err.isTTY === true && !quiet && !isDocument && streams.env.TERM !== 'dumb',
    style,
    thing(value, name, lines) {
      if (isDocument) printDocument(value);
      else if (format === 'name') print([name]);
      else print(lines());
    },
    changed(items, name, columns) {
      if (format === 'name') print(items.map(name));
      else if (!isDocument) print(table(items, columns, style).slice(1));
      else {
        for (const item of items) {
          if (format === 'yaml') print(['---']);
          printDocument(item);
        }
      }
    },
    list(page, name, columns) {
      if (isDocument) printDocument({ items: page.items, next: page.next ?? null });
      else if (format === 'name') print(page.items.map(name));
      else if (page.items.length === 0) err.write(quiet ? '' : 'No results.\n');
      else print(table(page.items, columns, style));
      if (!isDocument && format !== 'name' && page.next !== undefined && !quiet)
        err.write(`More: --cursor ${page.next}\n`);
    },
    note(line) {
      if (!quiet) err.write(`${line}\n`);
    },
    error(error) {
      if (isDocument) {
        const { code, message, hint, details } = error.toRecord();
        printDocument({ error: { code, message, hint, details } });
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
