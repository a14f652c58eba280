// HTTP requests with curl: QuickJS has no sockets.
import type { System } from '../system/system.ts';

export interface HttpRequest {
  readonly url: string;
  /** Passed by standard input, so that the process list does not show them. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: 'GET' | 'POST';
  readonly body?: string;
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  /** Proxy and trust variables. Without them no proxy is used, regardless of the agent's own environment. */
  readonly environment?: Readonly<Record<string, string>>;
}

export type HttpAnswer =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
    }
  /** There was no response, or it was too late or too large. */
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
  return parseAnswer(stdout) ?? { kind: 'none', why: 'the response is not HTTP' };
}

/** Quotes a value for a curl configuration file. */
function quote(text: string): string {
  const escaped = text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\r', '\\r');
  return `"${escaped}"`;
}

function reason(exitCode: number, stderr: string): string {
  if (exitCode === 127) return 'this image has no curl';
  const said = /curl: \(\d+\) (.*)/.exec(stderr)?.[1];
  return said ?? `curl exited with code ${exitCode}`;
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
