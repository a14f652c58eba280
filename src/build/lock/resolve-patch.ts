// An update for Windows as an input: its bytes, its sha256, and which of the monthly classes it is of.
import { describeInput, type LockedInput } from '../../domain/lock/lock.ts';
import type { WindowsPatch } from '../../domain/recipe/recipe.ts';
import type { LockContext } from './context.ts';
import { takeFile } from './resolve-component.ts';

export async function resolvePatch(patch: WindowsPatch, context: LockContext): Promise<LockedInput> {
  const secret = patch.private === true ? { private: true as const } : {};
  const label = describeInput({ kind: 'patch', name: patch.kb, version: patch.class, ...secret });
  const stored =
    patch.url === undefined
      ? await takeFile({ label, expected: patch.sha256, context, path: patch.file ?? '' })
      : await context.downloads.fetch({
          url: patch.url,
          label,
          sha256: patch.sha256,
          signal: context.signal,
        });
  return {
    ...{ kind: 'patch', name: patch.kb, version: patch.class, sha256: stored.sha256 },
    ...{ sizeBytes: stored.sizeBytes, source: patch.url ?? `file:${patch.file ?? ''}`, ...secret },
  };
}
