// Each gate by itself: what it asks for, what it finds, and whether time or people can open it.
import { isRole, isSamePerson, localOwner, roleIncludes } from '../access/roles.ts';
import type { GateResult } from '../channel/decision.ts';
import type { Stay } from '../channel/log.ts';
import { type Evidence, newestTest } from '../evidence/evidence.ts';
import { missingAbilities } from '../node-config/capabilities.ts';
import { type FreezeWindow, frozenBy, opensAt } from '../policy/freeze.ts';
import type { GateSettings } from '../policy/policy.ts';
import { formatBytes } from '../value/bytes.ts';
import { formatDuration } from '../value/duration.ts';
import { toIso } from '../value/time.ts';
import type { AgentOffers, Follower, GateFacts, GateName } from './facts.ts';

export { scanGate } from './scan.ts';

/** Firm: whoever asks, and whatever the policy says. */
export function testedGate({ version, evidence }: GateFacts): GateResult {
  const test = newestTest(version.digest, evidence);
  const tested = test === undefined ? 'no test of it is stored' : `${test.summary} (${test.at})`;
  return {
    ...gate('tested', 'a passed test of this digest, in state available'),
    passed: test?.passed === true && version.state === 'available',
    value: `${version.state}; ${tested}`,
    ...(test === undefined ? {} : { evidence: [test.id] }),
  };
}

/** Firm. The gate of a channel whose image is of the other kind; never open. */
export function realGate({ version, channel }: GateFacts): GateResult {
  return {
    ...gate('real', `a ${channel.simulated ? 'simulated' : 'real'} version`),
    passed: false,
    value: `it is ${version.simulated ? 'simulated' : 'real'}`,
  };
}

/** Firm: private inputs never become public. */
export function restrictedGate({ version, channel }: GateFacts): GateResult {
  return {
    ...gate('restricted', `no private input, as ${channel.name} is public`),
    passed: version.restricted !== true,
    value: version.restricted === true ? 'the version has private inputs' : 'no private input',
  };
}

/**
 * The longest of its stays counts. A clock that was set back makes an age shorter, never negative; so the gate
 * opens late then, not early.
 */
export function ageGate(
  { in: named, atLeastMs }: GateSettings<'age'>,
  { earlier, now }: GateFacts,
): GateResult {
  const channel = earlier?.name ?? named;
  const asked = gate('age', `${formatDuration(atLeastMs)} in ${channel ?? 'an earlier channel'}`);
  if (earlier === undefined || earlier.stays.length === 0) {
    return {
      ...asked,
      passed: false,
      value: channel ? `it never was in ${channel}` : 'there is no such channel',
    };
  }
  const ageMs = Math.max(...earlier.stays.map((stay) => lengthOf(stay, now)));
  const passed = ageMs >= atLeastMs;
  const current = earlier.stays.find(({ to }) => to === undefined);
  return {
    ...asked,
    passed,
    value: `it was there for ${formatDuration(ageMs)}`,
    ...(passed || current === undefined
      ? {}
      : {
          opensAt: toIso(
            new Date(Math.max(now, Date.parse(current.from)) + atLeastMs - lengthOf(current, now)),
          ),
        }),
  };
}

function lengthOf({ from, to }: Stay, now: number): number {
  return Math.max(0, (to === undefined ? now : Date.parse(to)) - Date.parse(from));
}

/** Measures of the newest test of each, against the version that the channel points at. */
export function budgetsGate(
  { growth, measures: wanted }: GateSettings<'budgets'>,
  facts: GateFacts,
): GateResult {
  const asked = gate('budgets', `no measure more than ${percent(growth)} above the version before`);
  const mine = newestTest(facts.version.digest, facts.evidence);
  const evidence = mine === undefined ? {} : { evidence: [mine.id] };
  const measured = readMeasures(mine);
  const missing = (wanted ?? []).filter((name) => !measured.has(name));
  if (missing.length > 0) {
    return { ...asked, ...evidence, passed: false, value: `not measured: ${missing.join(', ')}` };
  }
  if (facts.before === undefined) {
    return { ...asked, ...evidence, passed: true, value: 'there is no version before' };
  }
  const { version, evidence: theirs } = facts.before;
  const earlier = readMeasures(newestTest(version.digest, theirs));
  const names = [...measured.keys()].filter(
    (name) => earlier.has(name) && (wanted === undefined || wanted.includes(name)),
  );
  if (names.length === 0) {
    return {
      ...asked,
      ...evidence,
      passed: false,
      value: `nothing was measured of both it and ${version.version}`,
    };
  }
  const compared = names.map((name) => compare(name, earlier.get(name) ?? 0, measured.get(name) ?? 0));
  return {
    ...asked,
    ...evidence,
    passed: compared.every(({ grown }) => grown <= growth),
    value: compared.map(({ sentence }) => sentence).join(', '),
  };
}

export function sizeGate(
  { atMostBytes, growth }: GateSettings<'size'>,
  { version, before }: GateFacts,
): GateResult {
  const needs = [
    ...(atMostBytes === undefined ? [] : [`at most ${formatBytes(atMostBytes)}`]),
    ...(growth === undefined ? [] : [`at most ${percent(growth)} above the version before`]),
  ];
  const grown = before === undefined ? 0 : growthOf(before.version.sizeBytes, version.sizeBytes);
  const against = before === undefined ? '' : `, ${signedPercent(grown)} against ${before.version.version}`;
  return {
    ...gate('size', needs.join(' and ')),
    passed: version.sizeBytes <= (atMostBytes ?? Infinity) && grown <= (growth ?? Infinity),
    value: `${formatBytes(version.sizeBytes)}${against}`,
  };
}

/**
 * Counts distinct people, by the latest decision of each on this digest and channel. Tokens that are used by one OS user
 * over the Unix socket are one person, and `local` is not a person. Going back to a version that has passed the gates of
 * the channel before needs no new approval, but a rejection still blocks it.
 */
export function approvalsGate(asked: GateSettings<'approvals'>, facts: GateFacts): GateResult {
  const { count, role, requester: requesterMay } = asked;
  const counted = newestWords(facts).filter(
    ({ by, isRequester, details }) =>
      by !== localOwner && (requesterMay === true || !isRequester) && hasRole(details, role),
  );
  const against = counted.filter(({ passed }) => !passed);
  const given = counted.filter(({ passed }) => passed);
  const names = (items: readonly Evidence[]) => items.map(({ by }) => by).join(', ');
  return {
    ...gate(
      'approvals',
      `${count} of role ${role}${requesterMay === true ? '' : `, not ${facts.requester.by}`}`,
    ),
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

function hasRole(details: Evidence['details'], needed: GateSettings<'approvals'>['role']): boolean {
  const role = detail({ details }, 'role');
  return role !== undefined && isRole(role) && roleIncludes(role, needed);
}

function detail({ details }: Pick<Evidence, 'details'>, name: string): string | undefined {
  if (typeof details !== 'object' || details === null || Array.isArray(details)) return undefined;
  const value = (details as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'string' ? value : undefined;
}

export function freezeGate(windows: readonly FreezeWindow[], { now }: GateFacts): GateResult {
  const asked = gate('freeze', 'a time that is not frozen');
  const window = frozenBy(windows, now);
  if (window === undefined) return { ...asked, passed: true, value: 'nothing is frozen' };
  const opens = opensAt(windows, now);
  return {
    ...asked,
    passed: false,
    value: `frozen: ${window.why}`,
    ...(opens === undefined ? {} : { opensAt: toIso(new Date(opens)) }),
  };
}

/**
 * An agent reads the schema version that it was tested with and those before, and refuses later ones; and it refuses a
 * config that requires what the image does not have.
 */
export function nodeConfigGate({ composed, offers, followers }: GateFacts): GateResult {
  const asked = gate('node-config', 'an agent that accepts the node configs of pools that follow');
  const written = followers.filter(({ schemaVersion }) => schemaVersion !== undefined);
  if (written.length === 0) {
    return { ...asked, passed: true, value: `no config among ${followers.length} pools that follow` };
  }
  const known = composed?.nodeConfig?.schemaVersion;
  if (known === undefined) {
    return { ...asked, passed: false, value: 'it was not tested with a node config' };
  }
  const refused = written.flatMap((pool) => refusal(pool, known, offers) ?? []);
  return {
    ...asked,
    passed: refused.length === 0,
    value:
      refused.length === 0 ? `schema version ${known} serves ${written.length} pools` : refused.join('; '),
  };
}

function refusal(
  { name, schemaVersion = 0, requires }: Follower,
  known: number,
  offers: AgentOffers | undefined,
): string | undefined {
  if (schemaVersion > known) return `schema version ${known} is too old for ${name}`;
  if (requires.length === 0) return undefined;
  if (offers === undefined) return `${name} requires ${requires.join(', ')}, and nobody saw what it can do`;
  const { components, hidesComponents } = offers;
  const missing = missingAbilities(requires, offers, (component) => components[component] ?? []);
  const told = missing.filter((one) => !(hidesComponents && one.startsWith('component:')));
  return told.length === 0 ? undefined : `it lacks ${told.join(', ')} for ${name}`;
}

function gate(name: GateName, needs: string): Pick<GateResult, 'gate' | 'needs'> {
  return { gate: name, needs };
}

function compare(
  name: string,
  before: number,
  after: number,
): { readonly grown: number; readonly sentence: string } {
  const grown = growthOf(before, after);
  return { grown, sentence: `${name} ${before} → ${after} (${signedPercent(grown)})` };
}

function growthOf(before: number, after: number): number {
  if (after <= before) return before === 0 ? 0 : after / before - 1;
  return before === 0 ? Infinity : after / before - 1;
}

function percent(part: number): string {
  return `${Number((part * 100).toFixed(1))} %`;
}

function signedPercent(part: number): string {
  return `${part > 0 ? '+' : ''}${percent(part)}`;
}

/** Returns the numbers that a test measured, by name: `details.measures` of its evidence. */
function readMeasures(test: Pick<Evidence, 'details'> | undefined): ReadonlyMap<string, number> {
  const details = test?.details;
  if (typeof details !== 'object' || details === null || Array.isArray(details)) return new Map();
  const measures = (details as Readonly<Record<string, unknown>>).measures;
  if (typeof measures !== 'object' || measures === null) return new Map();
  return new Map(
    Object.entries(measures).filter(
      (entry): entry is [string, number] => typeof entry[1] === 'number' && Number.isFinite(entry[1]),
    ),
  );
}
