// The cheapest way to ask the metadata service: bash opens the connection, and reads from it itself. Starting curl takes
// several times as long, which counts for something that is asked all day.

import type { System } from '../system/system.ts';
import { encodeUtf8 } from '../system/utf8.ts';
import { type HttpAnswer, parseAnswer, request } from './http.ts';

/** In bytes, for which a number of them is read at once; without one, bash reads each by itself. */
const script =
  'LC_ALL=C; exec 3<>"/dev/tcp/$1/$2" && printf %s "$3" >&3 && { IFS= read -rN 262144 -u 3 x; printf %s "$x"; }';

/** Whatever is not a plain success is asked again by curl, whose answer then holds. */
export async function getMetadata(system: System, url: string): Promise<HttpAnswer> {
  const headers = { Metadata: 'true' };
  const answer = await getPlain(system, url, headers);
  if (answer.kind === 'answer' && answer.status === 200) return answer;
  return request(system, { url, headers });
}

/** Without TLS, a proxy or a redirect, and nothing but a whole answer. */
export async function getPlain(
  system: System,
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<HttpAnswer> {
  const [, host = '', port = '80', path = '/'] = /^http:\/\/([^/:]+)(?::(\d+))?(\/.*)$/.exec(url) ?? [];
  if (host === '') return { kind: 'none', why: 'the address is not a plain one' };
  const lines = Object.entries({ Host: host, ...headers, Connection: 'close' });
  const text = `GET ${path} HTTP/1.0\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
  const command = ['bash', '-c', script, 'bash', host, port, text];
  const { exitCode, stdout, timedOut } = await system.run(command, { timeoutMs: 3000 });
  if (timedOut) return { kind: 'none', why: 'no answer in 3 s' };
  if (exitCode !== 0) return { kind: 'none', why: `nothing listens on port ${port}` };
  const answer = parseAnswer(stdout);
  if (answer?.kind === 'answer' && isWhole(answer)) return answer;
  return { kind: 'none', why: 'the answer is not whole' };
}

/** A connection that broke looks like an end; only where the length was told and is there it was none. */
function isWhole({ headers, body }: Extract<HttpAnswer, { kind: 'answer' }>): boolean {
  return headers['content-length'] === String(encodeUtf8(body).length);
}
