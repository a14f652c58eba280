// Requests by curl: QuickJS has no sockets.
import type { System } from '../system/system.ts';

export interface HttpRequest {
  readonly url: string;
  /** They are handed over by standard input: nobody sees them in the list of processes. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: 'GET' | 'POST';
  readonly body?: string;
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  /** Variables of a proxy and of trust; without them no proxy is used, whatever the agent's own environment says. */
  readonly environment?: Readonly<Record<string, string>>;
}

export type HttpAnswer =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
    }
  /** There was no answer, or not in time, or too much of it. */
  | { readonly kind: 'none'; readonly why: string };

export async function request(system: System, wish: HttpRequest): Promise<HttpAnswer> {
  const { url, headers = {}, method = 'GET', body, timeoutMs = 5000, maxBytes = 262_144 } = wish;
  const { environment } = wish;
  const seconds = (ms: number) => (ms / 1000).toFixed(1);
  const config = [
    ...Object.entries(headers).map(([name, value]) => `header = ${quote(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`data-binary = ${quote(body)}`]),
    `url = ${quote(url)}`,
  ];
  const command = [
    ...['curl', '--silent', '--show-error', '--include', '--request', method, '--config', '-'],
    ...['--connect-timeout', seconds(Math.min(3000, timeoutMs)), '--max-time', seconds(timeoutMs)],
    ...['--max-filesize', String(maxBytes), ...(environment === undefined ? ['--noproxy', '*'] : [])],
  ];
  const { exitCode, stdout, stderr } = await system.run(command, {
    input: `${config.join('\n')}\n`,
    timeoutMs: timeoutMs + 5000,
    ...(environment && { environment }),
  });
  if (exitCode !== 0) return { kind: 'none', why: reason(exitCode, stderr) };
  return parseAnswer(stdout) ?? { kind: 'none', why: 'the answer is not HTTP' };
}

/** As curl's configuration files have it. */
function quote(text: string): string {
  const escaped = text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\r', '\\r');
  return `"${escaped}"`;
}

function reason(exitCode: number, stderr: string): string {
  if (exitCode === 127) return 'this image has no curl';
  const said = /curl: \(\d+\) (.*)/.exec(stderr)?.[1];
  return said ?? `curl ended with ${exitCode}`;
}

export function parseAnswer(text: string): HttpAnswer | undefined {
  const end = /\r?\n\r?\n/.exec(text);
  if (end === null) return undefined;
  const [first = '', ...lines] = text.slice(0, end.index).split(/\r?\n/);
  const status = Number(/^HTTP\/[\d.]+ (\d{3})/.exec(first)?.[1]);
  if (Number.isNaN(status)) return undefined;
  const rest = text.slice(end.index + end[0].length);
  if (status === 100) return parseAnswer(rest);
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  return { kind: 'answer', status, headers, body: rest };
}
