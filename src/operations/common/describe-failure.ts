// Lets a preview report what would fail as one of its lines.
import { ensureImagoError } from '../../domain/error/imago-error.ts';

/** Returns the lines, or one line with the error that the operation would fail with. */
export async function describeFailure(lines: () => Promise<readonly string[]>): Promise<readonly string[]> {
  try {
    return await lines();
  } catch (thrown) {
    const error = ensureImagoError(thrown);
    if (error.kind === 'bug' || error.kind === 'cancelled') throw thrown;
    return [`As things are, it would fail: ${error.message}`];
  }
}
