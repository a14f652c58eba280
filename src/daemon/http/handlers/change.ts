// What happened: one list of the permanent records.
import { contractOf, endpointNames } from '../../../api/contract/contract.ts';
import { roleIncludes } from '../../../domain/access/roles.ts';
import type { Handlers } from '../endpoint/call.ts';
import { pageQuery } from '../endpoint/page-query.ts';

/** Writes that have no record of their own in the list. What ends an operation is in the record of that operation. */
const listed: ReadonlySet<string> = new Set([
  'setPolicy',
  'cancelOperation',
  'retryOperation',
  'resendDeliveries',
]);

export const changeHandlers = {
  async listChanges({ context, caller, query }) {
    const settings = endpointNames.filter((name) => contractOf(name).effect === 'write' && !listed.has(name));
    const audited = roleIncludes(caller.role, contractOf('listAudit').role) ? settings : [];
    const page = await context.changes.list({ ...pageQuery(query), since: query.since, audited });
    const items = page.items.map((item) =>
      item.kind === 'setting' ? { ...item, what: inWords(item.what) } : item,
    );
    return { ...page, items };
  },
} satisfies Partial<Handlers>;

/** `createWebhook` is shown as `create webhook`. */
function inWords(endpoint: string): string {
  return endpoint.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
