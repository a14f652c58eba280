// Reads instance metadata by Azure's rules. The service may be late, slow, flapping or over its rate: each question
// is asked again for a while, less and less often.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { maxUserDataBytes } from '../../domain/node-config/read-node-config.ts';
import { decodeBase64 } from '../system/base64.ts';
import type { System } from '../system/system.ts';
import { decodeUtf8 } from '../system/utf8.ts';
import type { HttpAnswer } from './http.ts';
import { getMetadata } from './plain-http.ts';

export interface Instance {
  /** `vmId`: another one for each machine, also for a clone. */
  readonly machineId: string;
  readonly name: string;
  /** As `userData` gives it, where the service tells it along with the rest. */
  readonly userData?: string;
}

const firstPauseMs = 250;
const longestPauseMs = 10_000;

export interface MetadataService {
  /** Throws `node-metadata-unreachable` when there was no good answer until the deadline. */
  instance(deadlineMs: number): Promise<Instance>;
  /** In base64 as it is given; empty when there is none. Throws as `instance` does. */
  userData(deadlineMs: number): Promise<string>;
  /** A token for the machine's own identity. */
  token(resource: string, clientId: string | undefined, deadlineMs: number): Promise<string>;
}

export function createMetadataService(system: System, baseUrl: string): MetadataService {
  async function ask(path: string, deadlineMs: number, absent?: string): Promise<string> {
    const end = system.uptimeMs() + deadlineMs;
    let pause = firstPauseMs;
    for (;;) {
      const answer = await getMetadata(system, `${baseUrl}/metadata/${path}`);
      if (answer.kind === 'answer' && answer.status === 200) return answer.body;
      if (answer.kind === 'answer' && answer.status === 404 && absent !== undefined) return absent;
      const wait = Math.max(pause, retryAfterMs(answer));
      const hopeless = answer.kind === 'answer' && isRefusal(answer.status);
      if (hopeless || system.uptimeMs() + wait > end) throw unreachable(answer, !hopeless);
      await system.sleep(wait);
      pause = Math.min(pause * 2, longestPauseMs);
    }
  }

  return {
    async instance(deadlineMs) {
      const text = await ask('instance/compute?api-version=2021-02-01&format=json', deadlineMs);
      const { vmId, name, userData } = parseObject(text);
      if (typeof vmId !== 'string' || vmId === '' || typeof name !== 'string') {
        throw new ImagoError(
          'node-metadata-unreachable',
          'The metadata service does not say which machine this is.',
        );
      }
      return { machineId: vmId.toLowerCase(), name, ...(typeof userData === 'string' && { userData }) };
    },
    userData: (deadlineMs) =>
      ask('instance/compute/userData?api-version=2021-01-01&format=text', deadlineMs, ''),
    async token(resource, clientId, deadlineMs) {
      const query = [
        'api-version=2018-02-01',
        `resource=${encodeURIComponent(resource)}`,
        ...(clientId === undefined ? [] : [`client_id=${encodeURIComponent(clientId)}`]),
      ];
      const { access_token: token } = parseObject(
        await ask(`identity/oauth2/token?${query.join('&')}`, deadlineMs),
      );
      if (typeof token === 'string' && token !== '') return token;
      throw new ImagoError(
        'node-metadata-unreachable',
        'The metadata service gave no token for the identity.',
      );
    },
  };
}

/** Throws `node-config-missing` or `node-config-invalid`, never with what the text says. */
export function decodeUserData(userData: string): string {
  if (userData.trim() === '') {
    throw new ImagoError('node-config-missing', 'The machine has no userData, so there is no node config.');
  }
  if (userData.length > maxUserDataBytes) {
    throw new ImagoError(
      'node-config-too-big',
      `userData has ${userData.length} bytes; ${maxUserDataBytes} are allowed.`,
    );
  }
  const bytes = decodeBase64(userData);
  if (bytes === undefined) throw new ImagoError('node-config-invalid', 'userData is not base64.');
  return decodeUtf8(bytes);
}

function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && ![404, 408, 410, 429].includes(status);
}

function retryAfterMs(answer: HttpAnswer): number {
  if (answer.kind === 'none') return 0;
  const seconds = Number(answer.headers['retry-after']);
  return Number.isFinite(seconds) ? Math.min(seconds, 60) * 1000 : 0;
}

function unreachable(answer: HttpAnswer, retryable: boolean): ImagoError {
  const why = answer.kind === 'none' ? answer.why : `it answers with status ${answer.status}`;
  return new ImagoError('node-metadata-unreachable', `The metadata service gives no answer: ${why}.`, {
    retryable,
  });
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
