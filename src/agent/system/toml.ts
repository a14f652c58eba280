// Sets single values in an existing TOML file, and leaves everything else as it is.

export type TomlValue = string | number | boolean | readonly string[];

/** Sets a value. The parts of the table are its path; a missing table is added at the end of the file. */
export function setToml(text: string, table: readonly string[], key: string, value: TomlValue): string {
  const lines = text.replace(/\n$/, '').split('\n');
  const line = `${key} = ${JSON.stringify(value)}`;
  const wanted = table.map((part) => part.replace(/["']/g, '')).join('\n');
  const start = table.length === 0 ? -1 : lines.findIndex((one) => tableOf(one) === wanted);
  if (start < 0 && table.length > 0)
    return `${[...lines, '', `[${table.map(writePart).join('.')}]`, `  ${line}`].join('\n')}\n`;
  let end = lines.findIndex((one, index) => index > start && tableOf(one) !== undefined);
  if (end < 0) end = lines.length;
  const at = lines.findIndex((one, index) => index > start && index < end && keyOf(one) === key);
  const indent = table.length === 0 ? '' : '  ';
  if (at >= 0) lines[at] = indent + line;
  else lines.splice(start + 1, 0, indent + line);
  return `${lines.join('\n')}\n`;
}

/** Returns the line of a key at the head of the file, before any table. */
export function tomlLine(text: string, key: string): string | undefined {
  for (const line of text.split('\n')) {
    if (tableOf(line) !== undefined) return undefined;
    if (keyOf(line) === key) return line;
  }
  return undefined;
}

/** Returns the integer `version` at the head of the file. */
export function tomlVersion(text: string): number | undefined {
  const found = /=\s*(\d+)/.exec(tomlLine(text, 'version') ?? '')?.[1];
  return found === undefined ? undefined : Number(found);
}

/** Returns the texts of a list in a single line, without `\\` in them; `undefined` for any other line. */
export function tomlTexts(line: string): readonly string[] | undefined {
  const list = /=\s*\[((?:\s*(?:"[^"\\]*"|'[^']*')\s*,?)*)\s*\]\s*(?:#.*)?$/.exec(line)?.[1];
  if (list === undefined) return undefined;
  return [...list.matchAll(/"[^"]*"|'[^']*'/g)].map(([text]) => text.slice(1, -1));
}

/** Returns the parts of a table's header, one per line; `undefined` for other lines. */
function tableOf(line: string): string | undefined {
  const head = /^\s*\[\s*([^[\]].*?)\s*\]\s*(?:#.*)?$/.exec(line)?.[1];
  if (head === undefined) return /^\s*\[\[/.test(line) ? '' : undefined;
  const parts = head.match(/"[^"]*"|'[^']*'|[^.\s]+/g) ?? [];
  return parts.map((part) => part.replace(/["']/g, '')).join('\n');
}

function keyOf(line: string): string | undefined {
  return /^\s*["']?([A-Za-z0-9_-]+)["']?\s*=/.exec(line)?.[1];
}

function writePart(part: string): string {
  return /^[A-Za-z0-9_-]+$/.test(part) ? part : JSON.stringify(part);
}
