// Tokens and the audit.

import { localOwner } from '../../../domain/access/roles.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { Tokens } from '../../../ports/database/access.ts';
import type { Handlers } from '../endpoint/call.ts';
import { allItems, pageQuery } from '../endpoint/page-query.ts';

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 90;

/** Names in the audit that are nobody's. */
const reservedOwners: ReadonlySet<string> = new Set([localOwner, 'unknown']);

export const accessHandlers = {
  async showIdentity({ context, caller: { who, role, osUser, token } }) {
    const found = token === undefined ? undefined : await findToken(context.tokens, token);
    return {
      ...{ who, role },
      ...(osUser !== undefined && { osUser }),
      ...(found && { token: found.id, expiresAt: found.expiresAt }),
    };
  },
  listTokens: ({ context, query }) => context.tokens.list(pageQuery(query)),
  listAudit: ({ context, query }) =>
    context.audit.list({
      ...pageQuery(query),
      ...(query.subject === undefined ? {} : { subject: query.subject }),
    }),
  async createToken({ context, body }) {
    const { owner, role } = body;
    if (reservedOwners.has(owner.toLowerCase())) {
      throw new ImagoError('input-invalid', `No token can belong to ${owner}.`, {
        hint: 'Name the person or the program that will use it.',
      });
    }
    const expiresAt = expiryOf(body, context.clock.now());
    return {
      subject: `token/${owner}`,
      plan: async () => [`Make a token for ${owner} with the role ${role}, good until ${expiresAt}.`],
      async run() {
        const { record, secret } = await context.tokens.create(owner, role, expiresAt);
        return { ...record, secret };
      },
      record: ({ id, expiresAt: until }) => ({ id, owner, role, expiresAt: until }),
    };
  },
  async revokeToken({ context, path }) {
    const token = await findToken(context.tokens, path.token);
    const { id, owner, role } = token;
    return {
      subject: `token/${owner}`,
      before: { id, owner, role, revokedAt: token.revokedAt },
      plan: async () => [
        token.revokedAt === undefined
          ? `Revoke the token ${id} of ${owner} (${role}).`
          : `The token ${id} of ${owner} is already revoked.`,
      ],
      async run() {
        await context.tokens.revoke(id);
        await context.schedules.review(owner);
        return { id };
      },
    };
  },
} satisfies Partial<Handlers>;

function expiryOf(
  body: { readonly expiresAt?: string | undefined; readonly expiresInDays?: number | undefined },
  now: number,
): string {
  if (body.expiresAt !== undefined && body.expiresInDays !== undefined) {
    throw new ImagoError('input-invalid', 'Give `expiresAt` or `expiresInDays`, not both.');
  }
  const at =
    body.expiresAt === undefined
      ? now + (body.expiresInDays ?? DEFAULT_DAYS) * DAY_MS
      : Date.parse(body.expiresAt);
  if (at <= now) throw new ImagoError('input-invalid', 'The token would have expired already.');
  return new Date(at).toISOString();
}

async function findToken(tokens: Tokens, id: string) {
  for await (const token of allItems((query) => tokens.list(query))) {
    if (token.id === id) return token;
  }
  throw new ImagoError('token-not-found', `There is no token ${id}.`);
}
