// Keys that versions are signed with.
import { ImagoError } from '../../../domain/errors.ts';
import type { SigningKeys } from '../../../ports/signing-keys.ts';
import type { DaemonContext } from '../../context.ts';
import type { ReadHandlers, WriteHandlers } from '../call.ts';

export const keyReads = {
  listKeys: async ({ context }) => ({ items: await requireKeys(context).list() }),
} satisfies Partial<ReadHandlers>;

export const keyWrites = {
  async createKey({ context }) {
    const keys = requireKeys(context);
    return {
      subject: 'keys',
      async plan() {
        const before = (await keys.list()).find(({ signs }) => signs);
        return [
          'Make a key that signs from now on.',
          ...(before === undefined
            ? []
            : [`Key ${before.id} signs nothing new; what it signed still counts.`]),
        ];
      },
      run: () => keys.create(),
    };
  },
  async revokeKey({ context, path, body }) {
    const keys = requireKeys(context);
    const before = (await keys.list()).find(({ id }) => id === path.key);
    if (before === undefined) {
      throw new ImagoError('key-not-found', `There is no key ${path.key}.`, {
        hint: 'See `imago keys list`.',
      });
    }
    return {
      subject: `key/${before.id}`,
      before: { ...before },
      plan: async () => [
        `Nothing that key ${before.id} ever signed counts any more, and its private part is deleted.`,
      ],
      run: () => keys.revoke(before.id, body.reason),
    };
  },
} satisfies Partial<WriteHandlers>;

export function requireKeys({ keys }: DaemonContext): SigningKeys {
  if (keys !== undefined) return keys;
  throw new ImagoError('daemon-standby', 'This daemon stands by: another one has the keys.', {
    httpStatus: 503,
    retryable: true,
  });
}
