// The gate of approvals: enough people of a role have approved this digest for this channel.
import * as z from 'zod';
import { isRole, isSamePerson, localOwner, roleIncludes, roles } from '../access/roles.ts';
import type { Evidence } from '../evidence/evidence.ts';
import { defineGate, type Finding } from './define-gate.ts';
import type { GateFacts } from './facts.ts';

const settings = z
  .strictObject({
    count: z.int().min(1).max(20),
    role: z.enum(roles).default('publisher').describe('Minimum role of an approver.'),
    requester: z.boolean().optional().describe('Whether the requester can be an approver.'),
  })
  .describe('Approvals by distinct users, for this digest and channel.');
type ApprovalSettings = z.output<typeof settings>;

export const approvalsGate = defineGate({
  settings,
  check,
  weaker: (before, after) => ({
    count: after.count < before.count,
    role: roles.indexOf(after.role) < roles.indexOf(before.role),
    requester: after.requester === true && before.requester !== true,
  }),
});

/**
 * Counts distinct people, by the latest decision of each on this digest and channel. Tokens that are used by one OS user
 * over the Unix socket are one person, and `local` is not a person. Going back to a version that has passed the gates of
 * the channel before needs no new approval, but a rejection still blocks it.
 */
function check({ count, role, requester: requesterMay }: ApprovalSettings, facts: GateFacts): Finding {
  const counted = newestWords(facts).filter(
    ({ by, isRequester, details }) =>
      by !== localOwner && (requesterMay === true || !isRequester) && hasRole(details, role),
  );
  const against = counted.filter(({ passed }) => !passed);
  const given = counted.filter(({ passed }) => passed);
  const names = (items: readonly Evidence[]) => items.map(({ by }) => by).join(', ');
  return {
    needs: `${count} of role ${role}${requesterMay === true ? '' : `, not ${facts.requester.by}`}`,
    passed: (given.length >= count || facts.earlierMove !== undefined) && against.length === 0,
    value: `${given.length}${given.length === 0 ? '' : ` (${names(given)})`}${
      facts.earlierMove === undefined
        ? ''
        : `, it was in ${facts.channel.name} before (move ${facts.earlierMove})`
    }${against.length === 0 ? '' : `, refused by ${names(against)}`}`,
    evidence: counted.map(({ id }) => id),
    waitsForPeople: true,
  };
}

/** A token that was used over the socket once belongs to that OS user, wherever it is used. */
function newestWords({ evidence, version: { digest }, channel, requester }: GateFacts) {
  const words = evidence.filter(
    (item) => item.kind === 'approval' && item.digest === digest && detail(item, 'channel') === channel.name,
  );
  const users = new Map<string, string | undefined>([[requester.by, requester.osUser]]);
  for (const item of words) users.set(item.by, detail(item, 'osUser') ?? users.get(item.by));
  const asked = { ...requester, osUser: users.get(requester.by) };
  const newest = new Map<string, Evidence & { readonly isRequester: boolean }>();
  for (const item of words) {
    const person = { by: item.by, osUser: users.get(item.by) };
    const key = person.osUser === undefined ? `token ${item.by}` : `user ${person.osUser}`;
    if ((newest.get(key)?.id ?? 0) > item.id) continue;
    newest.set(key, { ...item, isRequester: isSamePerson(person, asked) });
  }
  return [...newest.values()];
}

function hasRole(details: Evidence['details'], needed: ApprovalSettings['role']): boolean {
  const role = detail({ details }, 'role');
  return role !== undefined && isRole(role) && roleIncludes(role, needed);
}

function detail({ details }: Pick<Evidence, 'details'>, name: string): string | undefined {
  if (typeof details !== 'object' || details === null || Array.isArray(details)) return undefined;
  const value = (details as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'string' ? value : undefined;
}
