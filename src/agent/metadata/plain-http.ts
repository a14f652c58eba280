// The cheapest request to the metadata service: bash opens the connection, and reads from it. Starting curl takes several
// times as long, which matters for periodic requests.
import type { System } from '../system/system.ts';
import { encodeUtf8 } from '../system/utf8.ts';
import { type HttpAnswer, parseAnswer, request } from './http.ts';

/** Reads bytes in one call with a length; without one, bash reads byte by byte. */
const script =
  'LC_ALL=C; exec 3<>"/dev/tcp/$1/$2" && printf %s "$3" >&3 && { IFS= read -rN 262144 -u 3 x; printf %s "$x"; }';

/** Repeats every request that does not plainly succeed with curl, whose response is final. */
export async function getMetadata(system: System, url: string): Promise<HttpAnswer> {
  const headers = { Metadata: 'true' };
  const answer = await getPlain(system, url, headers);
  if (answer.kind === 'answer' && answer.status === 200) return answer;
  return request(system, { url, headers });
}

/** Requests without TLS, proxy, or redirects, and accepts only a complete response. */
export async function getPlain(
  system: System,
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<HttpAnswer> {
  const [, host = '', port = '80', path = '/'] = /^http:\/\/([^/:]+)(?::(\d+))?(\/.*)$/.exec(url) ?? [];
  if (host === '') return { kind: 'none', why: 'the address is not a plain HTTP address' };
  const lines = Object.entries({ Host: host, ...headers, Connection: 'close' });
  const text = `GET ${path} HTTP/1.0\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
  const command = ['bash', '-c', script, 'bash', host, port, text];
  const { exitCode, stdout, timedOut } = await system.run(command, { timeoutMs: 3000 });
  if (timedOut) return { kind: 'none', why: 'no response in 3 s' };
  if (exitCode !== 0) return { kind: 'none', why: `nothing listens on port ${port}` };
  const answer = parseAnswer(stdout);
  if (answer?.kind === 'answer' && isComplete(answer)) return answer;
  return { kind: 'none', why: 'the response is incomplete' };
}

/** A lost connection looks like an end, so the response must have its declared length. */
function isComplete({ headers, body }: Extract<HttpAnswer, { kind: 'answer' }>): boolean {
  return headers['content-length'] === String(encodeUtf8(body).length);
}
