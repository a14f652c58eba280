// Probes: what users check on moved nodes beyond what machines, agents, and the cluster report.
import * as z from 'zod';
import { ImagoError } from '../error/imago-error.ts';
import { quote } from '../value/quote.ts';

export type Probe =
  | { readonly kind: 'http'; readonly url: string }
  /** A condition of the Node object. */
  | { readonly kind: 'condition'; readonly type: string; readonly status: string }
  /** A program of the directory `probes` of the daemon. */
  | { readonly kind: 'command'; readonly program: string; readonly args: readonly string[] }
  /** Fails as long as the query returns samples, as an alert does. */
  | { readonly kind: 'promql'; readonly server: string; readonly query: string };

/** What a probe is told about a node. */
export interface ProbedNode {
  readonly name: string;
  readonly address?: string | undefined;
  /** Ports of the node that are forwarded to this host. */
  readonly forwards?: readonly { readonly guestPort: number; readonly hostPort: number }[] | undefined;
}

const forms =
  '`http URL`, `condition TYPE[=STATUS]`, `command PROGRAM [ARGUMENT…]`, or `promql SERVER QUERY`; {node} and {address:PORT} stand for those of each node.';

/** Throws `input-invalid`. */
export function parseProbe(text: string): Probe {
  const [, kind = '', rest = ''] = /^(\S+) +(\S.*)$/s.exec(text.trim()) ?? [];
  const [first = '', ...others] = rest.split(/ +/);
  switch (kind) {
    case 'http':
      if (others.length === 0 && isHttp(first)) return { kind, url: first };
      break;
    case 'condition': {
      const [, type, status = 'True'] =
        /^([A-Za-z][\w./-]{0,62})(?:=(True|False|Unknown))?$/.exec(rest) ?? [];
      if (type !== undefined) return { kind, type, status };
      break;
    }
    case 'command':
      if (/^[a-z0-9][a-z0-9._-]{0,62}$/.test(first)) return { kind, program: first, args: others };
      break;
    case 'promql':
      if (others.length > 0 && isHttp(first))
        return { kind, server: first.replace(/\/$/, ''), query: rest.slice(first.length).trim() };
      break;
    default:
  }
  throw new ImagoError('input-invalid', `${quote(text)} is not a probe.`, { hint: `Write ${forms}` });
}

function isHttp(text: string): boolean {
  const example = fillIn(text, { name: 'node', address: '192.0.2.1' });
  return example !== undefined && /^https?:\/\//.test(example) && URL.canParse(example);
}

/** Returns `undefined` if the node has no address by now. A port that is forwarded is reached on this host. */
export function fillIn(text: string, { name, address, forwards = [] }: ProbedNode): string | undefined {
  let isComplete = true;
  const filled = text.replaceAll(/\{(?:node|address:(\d{1,5}))\}/g, (_, port: string | undefined) => {
    if (port === undefined) return name;
    const forward = forwards.find(({ guestPort }) => guestPort === Number(port));
    if (forward !== undefined) return `127.0.0.1:${forward.hostPort}`;
    if (address === undefined) isComplete = false;
    return address?.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
  });
  return isComplete ? filled : undefined;
}

const answer = z.object({
  status: z.literal('success'),
  data: z.object({ result: z.array(z.object({ metric: z.record(z.string(), z.string()).optional() })) }),
});

/**
 * Reads the answer of Prometheus. Returns why the probe fails, or `undefined` if it holds. Throws `input-invalid` for
 * anything else: a query that is wrong says nothing about the nodes.
 */
export function judgeQuery(body: string): string | undefined {
  const read = answer.safeParse(jsonOf(body));
  if (!read.success) throw new ImagoError('input-invalid', `Prometheus answered ${quote(body)}.`);
  const [first, ...more] = read.data.data.result;
  if (first === undefined) return undefined;
  const labels = Object.entries(first.metric ?? {}).map(([key, value]) => `${key}=${value}`);
  return `the query returns ${more.length + 1} samples, such as ${quote(labels.join(', '))}`;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
