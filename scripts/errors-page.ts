// docs/errors.md: every code that Imago answers with, from the catalogue that the code itself uses.
import { type CatalogueEntry, type ErrorKind, errorGroups } from '../src/domain/error/catalog.ts';
import { errorKinds } from '../src/domain/error/imago-error.ts';

// What each kind means to the reader, and what to do where an entry has no hint of its own.
const kinds = {
  input: ['wrong input', 'Correct what the message names.'],
  'not-found': ['not found', 'Check the name; the message says what is near.'],
  conflict: ['conflict', 'Look at how things stand now, then decide whether to ask again.'],
  refused: ['refused', 'The message says which rule refused it; meet the rule, or choose another way.'],
  failed: ['failed', 'Look at the message and, for an operation, at its steps with `imago op show`.'],
  provider: ['provider', 'The provider must act or recover; `imago op retry` goes on where it stopped.'],
  quota: ['quota', 'Ask the provider for more, or free some; `imago limits` shows how near each limit is.'],
  timeout: ['timeout', 'Look at what was waited for, then `imago op retry`.'],
  cancelled: ['cancelled', 'Nothing, if it was meant; `imago op retry` starts the same request again.'],
  bug: ['our bug', 'Please report it with the output of `imago doctor`.'],
} as const satisfies Record<ErrorKind, readonly [string, string]>;

export function errorsPage(): string {
  const lines = [
    '# Errors',
    '',
    'Every error has a code, a message that says what happened and a hint that says what to do. The code is in',
    '`--json` output (`{"error": {"code", "message", "hint"}}`) and in the problem documents of the API, whose `type` is',
    '`urn:imago:error:CODE`. This page is generated from `src/domain/error/catalog.ts` by `npm run generate`.',
    '',
    ...table([
      ['kind', 'exit code', 'HTTP status', 'worth a retry as it is'],
      ...Object.entries(errorKinds).map(([kind, { exitCode, httpStatus, retryable }]) => [
        kinds[kind as ErrorKind][0],
        String(exitCode),
        String(httpStatus),
        retryable ? 'yes' : 'no',
      ]),
    ]),
    '',
    'An error may carry another HTTP status, or know better whether a retry helps, where it is born.',
  ];
  for (const [title, entries] of Object.entries(errorGroups)) {
    lines.push('', `## ${title}`);
    for (const [code, entry] of Object.entries<CatalogueEntry>(entries))
      lines.push('', ...section(code, entry));
  }
  return `${lines.join('\n')}\n`;
}

/** Columns are padded as the formatter wants them. */
function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, column) => (cells[column] ?? '').padEnd(width)).join(' | ')} |`;
  const [head = [], ...body] = rows;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)];
}

function section(code: string, { kind, when, hint }: CatalogueEntry): readonly string[] {
  const { exitCode, httpStatus } = errorKinds[kind];
  const [name, advice] = kinds[kind];
  return [
    `### ${code}`,
    '',
    `Kind: ${name} · exit code ${exitCode} · HTTP ${httpStatus}`,
    '',
    `What happened: ${when}`,
    '',
    `What to do: ${hint ?? advice}`,
  ];
}
