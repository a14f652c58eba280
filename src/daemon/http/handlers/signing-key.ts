// Keys that versions are signed with, and those of others that are trusted.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { SigningKeys } from '../../../ports/image-store/signing-keys.ts';
import type { Handlers } from '../endpoint/call.ts';
import type { DaemonContext } from '../endpoint/context.ts';

export const keyHandlers = {
  listKeys: async ({ context }) => ({ items: await requireKeys(context).list() }),
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
        before.revoked !== undefined
          ? `Key ${before.id} is already revoked: ${before.revoked}`
          : before.owner === undefined
            ? `Invalidate all signatures of key ${before.id}, and delete its private part.`
            : `Invalidate all signatures of key ${before.id} of ${before.owner} here, permanently.`,
      ],
      run: () => keys.revoke(before.id, body.reason),
    };
  },
  async trustKey({ context, body }) {
    const keys = requireKeys(context);
    const { id } = await keys.trust(body, { dryRun: true });
    const before = (await keys.list()).find((key) => key.id === id);
    return {
      subject: `key/${id}`,
      ...(before === undefined ? {} : { before: { ...before } }),
      plan: async () => [
        body.revoked === undefined
          ? `What key ${id} of ${body.owner} signs counts here too.`
          : `Nothing that key ${id} of ${body.owner} ever signed counts here: ${body.revoked}`,
      ],
      run: () => keys.trust(body),
    };
  },
  async untrustKey({ context, path }) {
    const keys = requireKeys(context);
    const before = await keys.forget(path.key, { dryRun: true });
    return {
      subject: `key/${before.id}`,
      before: { ...before },
      plan: async () => [`Stop trusting the signatures of key ${before.id} of ${before.owner}.`],
      run: () => keys.forget(before.id),
      record: () => null,
    };
  },
} satisfies Partial<Handlers>;

export function requireKeys({ keys }: DaemonContext): SigningKeys {
  if (keys !== undefined) return keys;
  throw new ImagoError('daemon-standby', 'This daemon stands by: another one has the keys.', {
    httpStatus: 503,
    retryable: true,
  });
}
