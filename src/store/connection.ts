// How Imago connects to PostgreSQL: always by a URL, with settings that every session needs.
import { Client, type ClientConfig, types } from 'pg';
import { asStoreError } from './errors.ts';

/** PostgreSQL's settings by name, for the whole session. */
export type SessionSettings = Readonly<Record<string, string>>;

// A session that its client forgot must not hold locks for ever, and a dead client's machine must be noticed.
const usualSettings = {
  application_name: 'imago',
  timezone: 'UTC',
  idle_in_transaction_session_timeout: '30s',
  tcp_keepalives_idle: '5',
  tcp_keepalives_interval: '2',
  tcp_keepalives_count: '3',
} as const satisfies SessionSettings;

const connectDeadlineMs = 10_000;

/** What `pg` needs to connect; settings that the URL carries itself come first, ours after. */
export function clientConfig(url: string, settings: SessionSettings = {}): ClientConfig {
  const [address = '', query = ''] = splitOnce(url, '?');
  const parameters = new URLSearchParams(query);
  const options = [parameters.get('options'), settingsLine({ ...usualSettings, ...settings })]
    .filter((part) => part !== null)
    .join(' ');
  parameters.set('options', options);
  return {
    connectionString: `${address}?${parameters.toString().replaceAll('+', '%20')}`,
    connectionTimeoutMillis: connectDeadlineMs,
    keepAlive: true,
    types: { getTypeParser: typeParser },
  };
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

const parsers = new Map<number, (text: string) => unknown>([
  [types.builtins.INT8, Number],
  [types.builtins.TIMESTAMPTZ, (text: string) => parseTime(text).toISOString()],
  // As text: the caller must be able to tell a JSON `null` from no value.
  [types.builtins.JSON, (text: string) => text],
]);

function typeParser(type: number, format?: string): (text: string) => unknown {
  if (format === 'binary') return types.getTypeParser(type, 'binary') as (text: string) => unknown;
  return parsers.get(type) ?? (types.getTypeParser(type, 'text') as (text: string) => unknown);
}
