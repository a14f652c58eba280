// How Imago connects to PostgreSQL: always by a URL, with settings that every session needs.
import { Client, type ClientConfig, types } from 'pg';
import { asStoreError } from './errors.ts';

/** PostgreSQL's settings by name, for the whole session. */
export type SessionSettings = Readonly<Record<string, string>>;

// A session that its client forgot must not hold locks indefinitely, and a dead client's host must be noticed.
const usualSettings = {
  application_name: 'imago',
  timezone: 'UTC',
  idle_in_transaction_session_timeout: '30s',
  tcp_keepalives_idle: '5',
  tcp_keepalives_interval: '2',
  tcp_keepalives_count: '3',
} as const satisfies SessionSettings;

const connectDeadlineMs = 10_000;

/** What `pg` needs to connect. */
export function clientConfig(url: string, settings: SessionSettings = {}): ClientConfig {
  return {
    connectionString: urlWithSettings(url, { ...usualSettings, ...settings }),
    connectionTimeoutMillis: connectDeadlineMs,
    keepAlive: true,
    types: { getTypeParser: typeParser },
  };
}

/** The same URL, by which another library connects with this daemon's epoch: see `fenceSchema`. */
export function urlWithEpoch(url: string, epoch: number): string {
  return urlWithSettings(url, { 'imago.epoch': String(epoch) });
}

/** One connection outside of the pool. The caller ends it. */
export async function connectClient(url: string, settings: SessionSettings = {}): Promise<Client> {
  let client: Client;
  try {
    client = new Client(clientConfig(url, settings));
    // Without a listener a cut connection would end the process; the next query reports it.
    client.on('error', () => undefined);
    await client.connect();
  } catch (error) {
    throw asStoreError(error);
  }
  return client;
}

/** Settings that the URL carries itself come first, so that ours win. */
function urlWithSettings(url: string, settings: SessionSettings): string {
  const [address = '', query = ''] = splitOnce(url, '?');
  const parameters = new URLSearchParams(query);
  const given = parameters.get('options');
  parameters.set('options', [...(given === null ? [] : [given]), settingsLine(settings)].join(' '));
  return `${address}?${parameters.toString().replaceAll('+', '%20')}`;
}

function settingsLine(settings: SessionSettings): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value.replace(/[\\ ]/g, '\\$&')}`)
    .join(' ');
}

function splitOnce(text: string, at: string): readonly string[] {
  const index = text.indexOf(at);
  return index === -1 ? [text] : [text.slice(0, index), text.slice(index + 1)];
}

const parseTime: (text: string) => Date = types.getTypeParser(types.builtins.TIMESTAMPTZ, 'text');

/** Sessions are in UTC, so that a usual time needs no calendar, which is slow by the ten thousand. */
function isoTime(text: string): string {
  const isUsual = text[10] === ' ' && text.length <= 26 && text.endsWith('+00');
  if (!isUsual) return parseTime(text).toISOString();
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, -3).padEnd(3, '0')}Z`;
}

const parsers = new Map<number, (text: string) => unknown>([
  [types.builtins.INT8, Number],
  [types.builtins.TIMESTAMPTZ, isoTime],
  [types.builtins.DATE, (text: string) => text],
  // As text: the caller must be able to tell a JSON `null` from no value.
  [types.builtins.JSON, (text: string) => text],
]);

function typeParser(type: number, format?: string): (text: string) => unknown {
  if (format === 'binary') return types.getTypeParser(type, 'binary') as (text: string) => unknown;
  return parsers.get(type) ?? (types.getTypeParser(type, 'text') as (text: string) => unknown);
}
