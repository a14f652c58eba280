// Reads instance metadata by Azure's rules. The service can be late, slow, flapping, or throttled: each request is retried
// for a while, with growing pauses.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { maxUserDataBytes } from '../../domain/node-config/read-node-config.ts';
import { splitWords } from '../../domain/node-config/words.ts';
import { parseObject, type System } from '../system/system.ts';
import { decodeUtf8 } from '../system/utf8.ts';
import type { HttpAnswer } from './http.ts';
import { getMetadata } from './plain-http.ts';

export interface Instance {
  /** `vmId`: different for each machine, including a clone. */
  readonly machineId: string;
  readonly name: string;
  /** The same as `userData`, if the service includes it. */
  readonly userData?: string;
}

interface Compute {
  readonly vmId: string;
  readonly name: string;
  readonly userData: string;
  readonly osProfile: { readonly computerName?: string };
}

const firstPauseMs = 250;
const maxPauseMs = 10_000;

export interface MetadataService {
  /** Throws `node-metadata-unreachable` if there was no valid response until the deadline. */
  instance(deadlineMs: number): Promise<Instance>;
  /** Returns base64; empty if there is none. Throws as `instance` does. */
  userData(deadlineMs: number): Promise<string>;
  /** Returns the address of its first network card, which other machines use; `undefined` if it is not known. */
  address(deadlineMs: number): Promise<string | undefined>;
  /** Returns a token for the machine's own identity. */
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
      pause = Math.min(pause * 2, maxPauseMs);
    }
  }

  return {
    async instance(deadlineMs) {
      const text = await ask('instance/compute?api-version=2021-02-01&format=json', deadlineMs);
      const { vmId, name: resource, userData, osProfile } = parseObject<Compute>(text) ?? {};
      // An instance of a scale set is called web_0, which is not the name of a computer.
      const name = osProfile?.computerName || resource;
      if (typeof vmId !== 'string' || vmId === '' || typeof name !== 'string') {
        throw new ImagoError(
          'node-metadata-unreachable',
          'The metadata service does not identify this machine.',
        );
      }
      return { machineId: vmId.toLowerCase(), name, ...(typeof userData === 'string' && { userData }) };
    },
    userData: (deadlineMs) =>
      ask('instance/compute/userData?api-version=2021-01-01&format=text', deadlineMs, ''),
    async address(deadlineMs) {
      const path = 'instance/network/interface/0/ipv4/ipAddress/0/privateIpAddress';
      const text = await ask(`${path}?api-version=2021-02-01&format=text`, deadlineMs, '');
      return /^\d+(?:\.\d+){3}$/.test(text.trim()) ? text.trim() : undefined;
    },
    async token(resource, clientId, deadlineMs) {
      const query = [
        'api-version=2018-02-01',
        `resource=${encodeURIComponent(resource)}`,
        ...(clientId === undefined ? [] : [`client_id=${encodeURIComponent(clientId)}`]),
      ];
      const text = await ask(`identity/oauth2/token?${query.join('&')}`, deadlineMs);
      const { access_token: token } = parseObject(text) ?? {};
      if (typeof token === 'string' && token !== '') return token;
      throw new ImagoError(
        'node-metadata-unreachable',
        'The metadata service returned no token for the identity.',
      );
    },
  };
}

/** Throws `node-config-missing` or `node-config-invalid`, never with the text itself. */
export function decodeUserData(userData: string): ReturnType<typeof splitWords> {
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
  return splitWords(decodeUtf8(bytes));
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
  const why = answer.kind === 'none' ? answer.why : `it responds with status ${answer.status}`;
  return new ImagoError('node-metadata-unreachable', `The metadata service is not responding: ${why}.`, {
    retryable,
  });
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** Ignores white space. Returns `undefined` if the rest is not base64. QuickJS has no `atob`. */
export function decodeBase64(text: string): Uint8Array | undefined {
  const packed = text.replace(/\s+/g, '');
  if (packed.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(packed)) return undefined;
  const padding = packed.endsWith('==') ? 2 : packed.endsWith('=') ? 1 : 0;
  const bytes = new Uint8Array((packed.length / 4) * 3 - padding);
  let at = 0;
  for (let index = 0; index < packed.length; index += 4) {
    let group = 0;
    for (let offset = 0; offset < 4; offset += 1) {
      group = (group << 6) | Math.max(0, alphabet.indexOf(packed.charAt(index + offset)));
    }
    for (let shift = 16; shift >= 0 && at < bytes.length; shift -= 8) bytes[at++] = (group >> shift) & 0xff;
  }
  return bytes;
}
