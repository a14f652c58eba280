// What the daemon was started with, checked once.

import { ImagoError } from '../domain/error/imago-error.ts';
import type { DaemonFlags } from '../launcher/spawn.ts';
import type { ProviderName } from '../ports/provider/provider.ts';
import { defaultProvider, readProviderName } from './default-provider.ts';
import { parseListen, type TcpOptions } from './http/listener.ts';

export interface DaemonOptions {
  readonly tcp?: TcpOptions;
  /** How many times faster than the computer's clock the simulated provider's runs; absent: as the last time. */
  readonly timeScale?: number;
  /** Which provider answers when a request names none. */
  readonly provider: ProviderName;
  /** How many days ended operations and their logs are kept, where it was said. */
  readonly keep?: { readonly recordDays?: number; readonly logDays?: number };
}

/** As clients know them. */
export function flagsOf({ tcp, timeScale, provider }: DaemonOptions): DaemonFlags {
  return {
    ...(tcp === undefined ? {} : { listen: tcp.asked }),
    ...(tcp?.tls === undefined ? {} : { tlsCertificate: tcp.tls.certificate, tlsKey: tcp.tls.key }),
    ...(timeScale === undefined ? {} : { timeScale }),
    provider,
  };
}

export interface OptionWords {
  readonly listen?: string | undefined;
  readonly 'tls-certificate'?: string | undefined;
  readonly 'tls-key'?: string | undefined;
  readonly 'time-scale'?: string | undefined;
  readonly provider?: string | undefined;
}

/**
 * IMAGO_PROVIDER says what is meant where no flag does. IMAGO_KEEP_OPERATIONS and IMAGO_KEEP_LOGS are days: how long
 * ended operations and their logs stay.
 */
export function readOptions(
  words: OptionWords,
  env: Readonly<Record<string, string | undefined>>,
): DaemonOptions {
  const tcp = readTcp(words);
  const timeScale = readTimeScale(words['time-scale']);
  const recordDays = readDays(env, 'IMAGO_KEEP_OPERATIONS');
  const logDays = readDays(env, 'IMAGO_KEEP_LOGS');
  const keep = {
    ...(recordDays === undefined ? {} : { recordDays }),
    ...(logDays === undefined ? {} : { logDays }),
  };
  return {
    ...(tcp === undefined ? {} : { tcp }),
    ...(timeScale === undefined ? {} : { timeScale }),
    ...(Object.keys(keep).length === 0 ? {} : { keep }),
    provider: readProvider(words.provider ?? (env.IMAGO_PROVIDER || undefined)),
  };
}

function readTcp(words: OptionWords): TcpOptions | undefined {
  const { listen, 'tls-certificate': certificate, 'tls-key': key } = words;
  if ((certificate === undefined) !== (key === undefined)) {
    throw new ImagoError('usage-invalid', '--tls-certificate and --tls-key go together.');
  }
  if (listen === undefined) {
    if (certificate === undefined) return undefined;
    throw new ImagoError('usage-invalid', '--tls-certificate is for --listen.');
  }
  const tls = certificate === undefined || key === undefined ? undefined : { certificate, key };
  return { asked: listen, ...parseListen(listen), ...(tls === undefined ? {} : { tls }) };
}

function readTimeScale(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const scale = Number(text);
  if (scale > 0 && Number.isFinite(scale)) return scale;
  throw new ImagoError('usage-invalid', `--time-scale is a number above 0, not "${text}".`);
}

function readProvider(name: string | undefined): ProviderName {
  return name === undefined ? defaultProvider() : readProviderName(name);
}

/** At least a week: what was begun is looked at again for some days. */
function readDays(env: Readonly<Record<string, string | undefined>>, name: string): number | undefined {
  const text = env[name];
  if (text === undefined || text === '') return undefined;
  const days = Number(text);
  if (Number.isSafeInteger(days) && days >= 7 && days <= 36_500) return days;
  throw new ImagoError('usage-invalid', `${name} is a number of days from 7 to 36500, not "${text}".`);
}
