// Turns the settings that the daemon is started with into what its parts need.
import { parseAllowed, parseListen, readSettings, type Settings } from '../domain/settings/settings.ts';
import type { AddressRules } from '../host/network/address-guard.ts';
import type { ProviderName } from '../ports/provider/provider.ts';
import type { TcpOptions } from './http/listener.ts';

export interface DaemonOptions {
  /** Settings given by flags and by the file; the environment and defaults are not among them. */
  readonly given: Settings;
  /** Settings that are in effect. */
  readonly settings: Settings;
  readonly tcp?: TcpOptions;
  /** Provider of requests that name none. */
  readonly provider: ProviderName;
  /** The addresses that recipes and registry references can reach. */
  readonly addresses: AddressRules;
  /** Number of days that finished operations and their logs are stored, if set. */
  readonly keep: { readonly recordDays?: number; readonly logDays?: number };
}

/** Only a setting, a flag, IMAGO_PROVIDER, or a request selects the simulation. */
const defaultProvider = 'local';

const fromEnvironment = {
  provider: 'IMAGO_PROVIDER',
  'keep-operations': 'IMAGO_KEEP_OPERATIONS',
  'keep-logs': 'IMAGO_KEEP_LOGS',
  'allow-addresses': 'IMAGO_ALLOW_ADDRESSES',
} as const satisfies Partial<Record<keyof Settings, string>>;

/** Any command can start the daemon with its own environment, so a setting takes precedence over it. */
export function readOptions(
  given: Settings,
  env: Readonly<Record<string, string | undefined>>,
): DaemonOptions {
  const named = Object.entries(fromEnvironment).map(([name, variable]) => [name, env[variable] || undefined]);
  const environment = readSettings(
    Object.fromEntries(named) as object,
    (name) => fromEnvironment[name as keyof typeof fromEnvironment],
  );
  const settings = { ...environment, ...given };
  const provider = settings.provider ?? defaultProvider;
  const { 'keep-operations': recordDays, 'keep-logs': logDays } = settings;
  const tcp = readTcp(settings);
  return {
    given,
    settings: { ...settings, provider },
    ...(tcp === undefined ? {} : { tcp }),
    provider,
    addresses: readAddresses(settings),
    keep: {
      ...(recordDays === undefined ? {} : { recordDays }),
      ...(logDays === undefined ? {} : { logDays }),
    },
  };
}

/** Without a list, a daemon that other hosts can reach refuses private addresses, and one of a single user does not. */
function readAddresses({ listen, 'allow-addresses': list }: Settings): AddressRules {
  const allow = list === undefined ? undefined : parseAllowed(list);
  return { allow: allow ?? [], refusePrivate: allow !== undefined || listen !== undefined };
}

function readTcp({ listen, 'tls-cert': certificate, 'tls-key': key }: Settings): TcpOptions | undefined {
  const address = listen === undefined ? undefined : parseListen(listen);
  if (address === undefined) return undefined;
  return {
    ...address,
    ...(certificate === undefined ? {} : { tls: { certificate, key: key ?? certificate } }),
  };
}
