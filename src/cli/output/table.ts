// Formats plain tables: a header, columns as wide as their widest cell, nothing truncated.

export type Columns<T> = Readonly<Record<string, (item: T) => string | undefined>>;

export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
}

export function table<T>(items: readonly T[], columns: Columns<T>, style: Style): string[] {
  const names = Object.keys(columns);
  const cells = items.map((item) => names.map((name) => columns[name]?.(item) ?? '-'));
  const widths = names.map((name, index) =>
    Math.max(name.length, ...cells.map((row) => row[index]?.length ?? 0)),
  );
  const line = (row: readonly string[]) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd();
  return [style.bold(line(names.map((name) => name.toUpperCase()))), ...cells.map(line)];
}

/** Formats aligned `name  value` lines. Absent values are omitted. */
export function keyValueLines(all: Readonly<Record<string, unknown>>): string[] {
  const present = Object.entries(all).flatMap(([name, value]) => {
    const cell = formatCell(value);
    return cell === undefined ? [] : [[name, cell] as const];
  });
  const width = Math.max(0, ...present.map(([name]) => name.length));
  return present.map(([name, cell]) => `${name.padEnd(width)}  ${cell}`);
}

/** Formats one value; `undefined` if there is nothing to show. */
export function formatCell(value: unknown): string | undefined {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.join(', ');
  return value === undefined || value === null ? undefined : String(value);
}
