// docs/errors.md: every code that Imago returns, from the catalog that the code itself uses.
import { type ErrorKind, errorCatalog } from '../src/domain/error/catalog.ts';
import { errorKinds } from '../src/domain/error/imago-error.ts';

// The name of each kind, and what to do if an entry has no hint of its own.
const kinds = {
  input: ['Wrong input', 'Correct what the message names.'],
  'not-found': ['Not found', 'Check the name; the message suggests a similar one.'],
  conflict: ['Conflict', 'Check the current state, then decide whether to try again.'],
  refused: ['Refused', 'The message names the rule that refused it; meet the rule, or choose another way.'],
  failed: ['Failed', 'Check the message and, for an operation, its steps with `imago op show`.'],
  provider: ['Provider', 'The provider must act or recover; `imago op retry` continues where it stopped.'],
  quota: [
    'Quota',
    'Request more from the provider, or free some; `imago limits` shows how near each limit is.',
  ],
  timeout: ['Timeout', 'Check what was waited for, then run `imago op retry`.'],
  cancelled: ['Cancelled', 'Nothing, if it was intended; `imago op retry` starts the same request again.'],
  bug: ['Bug in Imago', 'Please report it with the output of `imago doctor`.'],
} as const satisfies Record<ErrorKind, readonly [string, string]>;

const introduction = `# Errors

Every error has a code, a message that says what happened and a hint that says what to do. The code is in
\`--json\` output (\`{"error": {"code", "message", "hint"}}\`) and in the problem documents of the API, whose \`type\` is
\`urn:imago:error:CODE\`. An error can carry another HTTP status than its kind, and a more specific hint than this page.
This page is generated from \`src/domain/error/catalog.ts\` by \`npm run generate\`.`;

export function errorsPage(): string {
  const sections = Object.entries(kinds).map(([kind, [name, advice]]) => {
    const { exitCode, httpStatus, retryable } = errorKinds[kind as ErrorKind];
    const codes = Object.entries(errorCatalog).filter(([, entry]) => entry.kind === kind);
    const retry = retryable ? 'a retry can help' : 'a retry alone does not help';
    return [
      `## ${name}`,
      `Exit code ${exitCode} · HTTP ${httpStatus} · ${retry}.`,
      ...codes.map(([code, { hint }]) => `### ${code}\n\n${hint ?? advice}`),
    ].join('\n\n');
  });
  return `${[introduction, ...sections].join('\n\n')}\n`;
}
