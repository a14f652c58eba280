// Translates the output of PostgreSQL into errors.
import { ImagoError } from '../../domain/error/imago-error.ts';

/** Printed while the children of a killed server are still exiting: a retry succeeds. */
const transientPatterns = [
  /pre-existing shared memory block/i,
  /lock file ".*" already exists/i,
  /the database system is (starting up|shutting down)/i,
  /could not bind Unix address .*: Address already in use/i,
];
const OUTPUT_LINES = 5;

/** Returns whether a retry after a short pause can succeed. */
export function isTransient(output: string): boolean {
  return transientPatterns.some((pattern) => pattern.test(output));
}

/** Returns the error for a server or `initdb` that exited with this output. */
export function explainPostgresOutput(output: string, what: string): ImagoError {
  const said = output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /FATAL|PANIC|ERROR|error:|HINT|DETAIL|could not/.test(line))
    .slice(-OUTPUT_LINES)
    .join(' ');
  const details = { output: output.slice(-2000) };
  if (/No space left on device|Disk quota exceeded/i.test(output)) {
    return new ImagoError('no-space', `${what}: the disk is full.`, { details });
  }
  if (/Permission denied/i.test(output)) {
    return new ImagoError('postgres-unreachable', `${what}: permission denied. ${said}`, { details });
  }
  if (
    /could not allocate|Cannot allocate memory|could not (map|create|resize) .*shared memory/i.test(output)
  ) {
    return new ImagoError('postgres-failed', `${what}: not enough memory. ${said}`, { details });
  }
  if (/lock file ".*" already exists/i.test(output)) {
    return new ImagoError('postgres-foreign', `${what}: another server is running. ${said}`, { details });
  }
  return new ImagoError(
    'postgres-failed',
    `${what}: ${said || output.trim().slice(-300) || 'no reason given'}`,
    {
      details,
    },
  );
}
