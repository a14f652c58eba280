// Plain tables: a header, columns as wide as their widest cell, nothing cut off.

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

/** Aligned `name  value` lines; absent values are left out. */
export function facts(all: Readonly<Record<string, string | number | undefined>>): string[] {
  const present = Object.entries(all).filter(([, value]) => value !== undefined);
  const width = Math.max(0, ...present.map(([name]) => name.length));
  return present.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
}
