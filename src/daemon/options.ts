// What the daemon was started with, checked once.
import type { DaemonFlags } from '../api/daemon-spawn.ts';
import { ImagoError } from '../domain/errors.ts';
import type { ProviderName } from '../ports/provider.ts';
import { defaultProvider, readProviderName } from './default-provider.ts';
import { parseListen, type TcpOptions } from './listener.ts';

export interface DaemonOptions {
  readonly tcp?: TcpOptions;
  /** How many times faster than the computer's clock the simulated provider's runs; absent: as the last time. */
  readonly timeScale?: number;
  /** Which provider answers when a request names none. */
  readonly provider: ProviderName;
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

/** IMAGO_PROVIDER says what is meant where no flag does. */
export function readOptions(
  words: OptionWords,
  env: Readonly<Record<string, string | undefined>>,
): DaemonOptions {
  const tcp = readTcp(words);
  const timeScale = readTimeScale(words['time-scale']);
  return {
    ...(tcp === undefined ? {} : { tcp }),
    ...(timeScale === undefined ? {} : { timeScale }),
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
