// The database's URL as DBOS gets it, with what every session of it needs.

/** A process that froze in the middle of a write must not keep its locks; dead clients must be noticed. */
const sessionSettings = [
  'idle_in_transaction_session_timeout=30s',
  'tcp_keepalives_idle=5',
  'tcp_keepalives_interval=2',
  'tcp_keepalives_count=3',
] as const;

export function engineUrl(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  const given = url.searchParams.get('options') ?? '';
  const options = [given, ...sessionSettings.map((setting) => `-c ${setting}`)].join(' ').trim();
  url.searchParams.set('options', options);
  return url.toString().replaceAll('+', '%20');
}
