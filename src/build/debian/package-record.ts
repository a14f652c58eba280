// Paragraphs of Debian's package index, and what a lock keeps of them.

export interface PackageRecord {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  readonly sha256: string;
  readonly sizeBytes: number;
  /** In the archive, from its root. */
  readonly path: string;
  readonly installedBytes: number;
  /** Names that it depends on, each clause with its alternatives. */
  readonly depends: readonly (readonly string[])[];
  /** Names that it stands in for. */
  readonly provides: readonly string[];
  /** The whole paragraph. */
  readonly text: string;
}

export function readRecords(text: string): readonly PackageRecord[] {
  return text
    .split(/\n\s*\n/)
    .filter((paragraph) => paragraph.trim() !== '')
    .map(readRecord);
}

function readRecord(text: string): PackageRecord {
  const fields = readFields(text);
  const get = (name: string) => fields.get(name) ?? '';
  return {
    name: get('package'),
    version: get('version'),
    architecture: get('architecture'),
    sha256: get('sha256'),
    sizeBytes: Number(get('size')),
    path: get('filename'),
    installedBytes: Number(get('installed-size')) * 1024,
    depends: [...clauses(get('pre-depends')), ...clauses(get('depends'))],
    provides: clauses(get('provides')).flat(),
    text: text.trim(),
  };
}

/** `a (>= 1) | b, c:any` as [[a, b], [c]]. */
function clauses(text: string): readonly (readonly string[])[] {
  return text
    .split(',')
    .map((clause) => clause.split('|').flatMap((part) => /^\s*([a-z0-9][a-z0-9+.-]*)/.exec(part)?.[1] ?? []))
    .filter((names) => names.length > 0);
}

/** Names are in lower case; the lines of a folded field are joined. */
function readFields(paragraph: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  let name = '';
  for (const line of paragraph.split('\n')) {
    const match = /^([A-Za-z0-9-]+):\s*(.*)$/.exec(line);
    if (match !== null) {
      name = (match[1] ?? '').toLowerCase();
      fields.set(name, match[2] ?? '');
    } else if (/^\s/.test(line)) fields.set(name, `${fields.get(name) ?? ''}\n${line.trim()}`);
  }
  return fields;
}

/** As dpkg's database would have it, were the package installed. */
export function installedRecord({ text }: PackageRecord): string {
  return text.replace(/^(Package: .*)$/m, '$1\nStatus: install ok installed');
}
