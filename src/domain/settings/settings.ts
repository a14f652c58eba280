// Declares the daemon's settings: kept in the state directory, so that every start uses them, whoever starts the
// daemon. The flags of `imago up`, `imago config`, and the API are all made from this table.
import * as z from 'zod';
import { ImagoError } from '../error/imago-error.ts';
import { didYouMean, orList } from '../value/suggest.ts';
import { addressFamily } from '../webhook/address.ts';

/** In the order in which they are tried. */
export const azureSignInWays = ['secret', 'certificate', 'workload', 'github', 'managed', 'az'] as const;

const days = z.coerce.number().int().min(7).max(36_500);
const absolutePath = z.string().startsWith('/').max(4096);

export const settingSpecs = {
  listen: {
    what: 'address that the API also listens on; callers then need tokens',
    form: 'HOST:PORT, for example 127.0.0.1:7070',
    schema: z.string().refine((text) => parseListen(text) !== undefined),
  },
  'tls-cert': {
    what: 'certificate chain for `listen`, in PEM form',
    form: 'an absolute path',
    schema: absolutePath,
  },
  'tls-key': {
    what: 'private key of the certificate (default: in the same file)',
    form: 'an absolute path',
    schema: absolutePath,
  },
  provider: {
    what: 'provider for new pools, builds, and tests',
    form: 'local, azure, or sim',
    schema: z.enum(['local', 'azure', 'sim']),
  },
  'time-scale': {
    what: 'how many times faster simulated time runs (default: 1000)',
    form: 'a number above 0',
    schema: z.coerce.number().positive(),
  },
  'keep-operations': {
    what: 'days that finished operations are stored',
    form: 'a number of days from 7 to 36500',
    schema: days,
  },
  'keep-logs': {
    what: 'days that operation logs are stored',
    form: 'a number of days from 7 to 36500',
    schema: days,
  },
  'allow-addresses': {
    what: 'hosts and ranges that recipes and registry references can reach although they are private',
    form: 'names, addresses, and ranges separated by commas, for example 10.0.0.0/8,registry.local, or none',
    schema: z.string().refine((text) => parseAllowed(text) !== undefined),
  },
  'azure-subscription': {
    what: 'Azure subscription; with azure-resource-group and azure-location, it turns the azure provider on',
    form: 'the id of a subscription',
    schema: z.guid(),
  },
  'azure-resource-group': {
    what: 'resource group of galleries, disks, and scale sets',
    form: 'a name of at most 90 characters',
    schema: z.string().regex(/^[\w().-]{0,89}[\w()-]$/),
  },
  'azure-location': {
    what: 'region of galleries and pools that name none',
    form: 'a region in lower case, for example westeurope',
    schema: z.string().regex(/^[a-z0-9]{3,40}$/),
  },
  'azure-gallery': {
    what: 'gallery that versions go to (default: imago)',
    form: 'letters, digits, _ and ., at most 80 characters',
    schema: z.string().regex(/^[A-Za-z0-9](?:[\w.]{0,78}[A-Za-z0-9])?$/),
  },
  'azure-subnet': {
    what: 'subnet of the nodes of new pools in Azure',
    form: 'the id of a subnet',
    schema: z
      .string()
      .regex(/^\/subscriptions\/[^/]+\/resourceGroups\/[^/]+\/providers\/.+\/subnets\/[^/]+$/i),
  },
  'azure-sign-in': {
    what: 'way to sign in to Azure (default: the first that is set up)',
    form: orList(azureSignInWays),
    schema: z.enum(azureSignInWays),
  },
  'azure-endpoint': {
    what: 'address of an Azure emulator or of a national cloud',
    form: 'an https address',
    schema: z.url({ protocol: /^https$/ }),
  },
  'azure-ca': {
    what: 'certificate authority of an Azure emulator, in PEM form',
    form: 'an absolute path',
    schema: absolutePath,
  },
  'registry-regions': {
    what: 'repositories that are regions of a gallery, the first one its own',
    form: 'REGION=HOST/REPOSITORY, several with commas between them',
    schema: z.string().regex(/^[a-z0-9-]{1,40}=[^\s,=]+(?:,[a-z0-9-]{1,40}=[^\s,=]+)*$/),
  },
} as const;

export type SettingName = keyof typeof settingSpecs;
export type SettingValue = string | number;
export type Settings = {
  readonly [N in SettingName]?: z.output<(typeof settingSpecs)[N]['schema']>;
};

export const settingNames = Object.keys(settingSpecs) as SettingName[];
export const settingValue = z.union([z.string().max(4096), z.number()]);

export const settingView = z
  .object({
    name: z.enum(settingNames),
    what: z.string(),
    value: settingValue.optional().describe('Absent if it is not set.'),
    effective: settingValue
      .optional()
      .describe('The value that the running daemon uses: set, from its environment, or a default.'),
    pending: z.literal(true).optional().describe('It takes effect when the daemon starts again.'),
  })
  .meta({ id: 'Setting', description: 'What the daemon is started with.' });
export type SettingView = z.infer<typeof settingView>;

/** Throws `setting-unknown`. */
export function readSettingName(name: string): SettingName {
  const known = settingNames.find((one) => one === name);
  if (known !== undefined) return known;
  throw new ImagoError('setting-unknown', `There is no setting ${JSON.stringify(name)}.`, {
    hint: didYouMean(name, settingNames) ?? `The settings are ${orList(settingNames)}.`,
  });
}

/** Reads one value. `label` is what the person wrote it as. Throws `setting-invalid`. */
function readSetting(name: SettingName, value: unknown, label: string = name): Settings {
  const { schema, form } = settingSpecs[name];
  const parsed = schema.safeParse(value);
  if (parsed.success) return { [name]: parsed.data };
  throw new ImagoError('setting-invalid', `${label} is ${JSON.stringify(value)}.`, {
    hint: `It must be ${form}.`,
  });
}

/** Reads all values of an object and checks that they fit together. Absent ones are skipped. */
export function readSettings(values: object, label = (name: string) => name): Settings {
  const settings = Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => readSetting(readSettingName(name), value, label(name)));
  return checkSettings(Object.assign({}, ...settings));
}

export function checkSettings(settings: Settings): Settings {
  if (settings['tls-key'] === undefined || settings['tls-cert'] !== undefined) return settings;
  throw new ImagoError('setting-invalid', 'tls-key is set without tls-cert.', {
    hint: 'Set tls-cert first; unset tls-key first.',
  });
}

/** Returns the settings with one changed, or unset if the value is `undefined`. */
export function changeSetting(settings: Settings, name: SettingName, value: unknown): Settings {
  const { [name]: _, ...rest } = settings;
  return checkSettings(value === undefined ? rest : { ...rest, ...readSetting(name, value) });
}

/** Describes a change for dry runs and for people. */
export function describeChange(name: SettingName, value: unknown): string {
  return value === undefined ? `Unset ${name}.` : `Set ${name} to ${value}.`;
}

/** What the daemon was started with, and what it uses. */
export interface RunningSettings {
  readonly given: Settings;
  readonly settings: Settings;
}

export function viewSettings(set: Settings, running?: RunningSettings): readonly SettingView[] {
  return settingNames.map((name) => viewSetting(set, name, running));
}

export function viewSetting(set: Settings, name: SettingName, running?: RunningSettings): SettingView {
  const { [name]: value } = set;
  const effective = running?.settings[name];
  const pending = running !== undefined && running.given[name] !== value;
  return {
    name,
    what: settingSpecs[name].what,
    ...(value === undefined ? {} : { value }),
    ...(effective === undefined ? {} : { effective }),
    ...(pending ? { pending } : {}),
  };
}

/** Reads a list of names, addresses, and ranges, or `none`; `undefined` for anything else. */
export function parseAllowed(text: string): readonly string[] | undefined {
  if (text === 'none') return [];
  const items = text.split(',').map((item) => item.trim().toLowerCase());
  return items.every(isAllowable) ? items : undefined;
}

function isAllowable(item: string): boolean {
  const [host = '', length, ...more] = item.split('/');
  const family = addressFamily(host);
  if (family === undefined) {
    // No top-level domain is a number: `10.0.0` and `10.0.0.300` are mistyped addresses.
    return (
      length === undefined &&
      /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-z](?:[a-z0-9-]*[a-z0-9])?$/.test(host)
    );
  }
  if (length === undefined) return true;
  return more.length === 0 && /^\d{1,3}$/.test(length) && Number(length) <= (family === 4 ? 32 : 128);
}

/** Reads `HOST:PORT`, `[IPV6]:PORT`, or `:PORT`; `undefined` for anything else. */
export function parseListen(text: string): { readonly host: string; readonly port: number } | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) return undefined;
  return { host: match[1] ?? (match[2] || '0.0.0.0'), port };
}
