// The rooms of `src`: who may import whom, and which files of a room others may import. dependency-cruiser checks
// these rules (scripts/check-layers.ts); docs/architecture.md explains them.
import type { IForbiddenRuleType, IRegularForbiddenRuleType } from 'dependency-cruiser';

interface Room {
  /** The rooms that it may import, types included. */
  readonly may: readonly string[];
  /**
   * Its public face: the files that other rooms may import, as regular expressions of paths below the room without
   * `.ts`. A room without a face is open; an empty face is closed.
   */
  readonly face?: readonly string[];
  /** Modules of Node and packages: all by default, only their types, or only the named packages. */
  readonly uses?: 'types' | readonly string[];
}

/** The rooms that everything above the rules may use. */
const basis = ['domain', 'ports', 'async', 'host'];

/** Includes rooms that do not exist yet, so that their place is known. */
export const rooms: Readonly<Record<string, Room>> = {
  domain: { may: [], uses: ['zod'] },
  ports: { may: ['domain'], uses: 'types' },
  async: { may: ['domain', 'ports'] },
  host: { may: ['domain', 'ports', 'async'] },
  document: { may: ['domain'] },
  install: { may: ['domain'], uses: [] },
  agent: { may: ['domain', 'install'], uses: [], face: [] },
  workflow: {
    may: basis,
    face: [
      ...['operations', 'poll-until'],
      ...['interpreter/child-step', 'engine/ticker', 'engine/dbos/engine'],
    ],
  },
  operations: {
    may: ['domain', 'ports', 'async', 'workflow'],
    face: [
      'kinds',
      'common/(all-pages|deps|require)',
      'reconcile/[^/]+',
      // What routes ask directly, without an operation.
      'capture/donors',
      'channel/(attest-move|gate-facts|moves)',
      'gallery/(copy-target|limits|list-copies|make-public)',
      'image/import',
      'node/pool-nodes',
      'public-catalog/image',
      'release/channels',
      'resolve/resolve',
      'retention/operations',
      'rollout/status',
    ],
  },
  disk: {
    may: basis,
    face: [
      'assemble/[^/]+',
      'boot/(boot-files|boot-parts|root-files)',
      'bytes/[^/]+',
      'clean/(clean-disk|disk-checklist|parts|scan-disk|secrets)',
      'convert/[^/]+',
      'ext4/(inode|invalid|make|reader|size)',
      'gpt/(end-of-table|partitions|reader|table)',
      'ntfs/(reader|volume)',
      'qcow2/overlay',
      'tar/(entry|header|input|merge|merged-tree|reader|writer)',
      'tree/file-tree',
      'vhd/(footer|reader)',
    ],
  },
  oci: {
    may: [...basis, 'disk'],
    face: [
      'chunks/chunk-jobs',
      'disks/[^/]+',
      'layout/(collect-garbage|digest|layout-index|manifest|media-types|owner|referrers)',
      'registry/(auth|client|find-credentials|pull|push|reference|remote-version)',
      'signatures/[^/]+',
    ],
  },
  inventory: {
    may: [...basis, 'install', 'disk', 'oci'],
    face: [
      '(attach-records|file-hash-cache|hash-files|load-inventory|provenance|read-inventory)',
      '(diff|model|notes|windows)/[^/]+',
      'linux/writable-layers',
    ],
  },
  'image-store': {
    may: [...basis, 'disk', 'oci', 'inventory'],
    face: ['(image-store|attestor|signatures)'],
  },
  build: {
    may: [...basis, 'install', 'document', 'disk', 'oci', 'inventory'],
    face: [
      'builder',
      'content/prune',
      'inputs/(local-files|sent-files)',
      'layers/agent-layer',
      'lock/(context|lock-file)',
      'recipe/(compose-recipe|read-recipe|show-recipe)',
      // What `imago doctor` tries out.
      'debian/apt-workspace',
      'sandbox/(namespace|overlay|sandbox)',
    ],
  },
  // One model of a cloud, with executors below it; the providers and the emulator are its faces.
  cloud: { may: [...basis, 'install', 'disk', 'oci'] },
  // Reads a disk file for the command line, which may not: it has neither state nor daemon.
  inspect: { may: [...basis, 'disk', 'inventory'], face: [] },
  'azure-emulator': { may: [...basis, 'cloud', 'providers/sim'], face: [] },
  'providers/local': {
    may: [...basis, 'install', 'disk', 'oci', 'cloud'],
    face: [
      '(provider|resume)',
      'host/open',
      'qemu/(accelerator|machine-host)',
      // What `imago doctor` tries out.
      'network/guard',
      'state/(context|image-cache|machine-size|memory)',
    ],
  },
  'providers/sim': {
    may: [...basis, 'install', 'disk', 'oci', 'cloud'],
    face: ['provider'],
  },
  'providers/registry': {
    may: [...basis, 'oci', 'cloud'],
    face: ['provider'],
  },
  'providers/azure': {
    may: [...basis, 'install', 'disk', 'oci'],
    face: ['provider'],
  },
  kube: {
    may: [...basis, 'document'],
    face: ['cluster', 'sim/(kubelet|simulated-cluster|world-cluster)', 'control-plane/control-plane'],
  },
  database: {
    may: basis,
    face: [
      '(open-database|schedules)',
      'backup/(backup|format|restore)',
      'connection/(connection|database)',
      'lease/(fence|lease)',
      'migrations/migrate',
    ],
  },
  api: {
    may: ['domain'],
    face: [
      'client/(client|exchange|read-problem)',
      'contract/((addresses|commands)\\.generated|command|contract|endpoint|types)',
      'openapi/[^/]+',
      'schemas/(common|policy)',
    ],
  },
  launcher: { may: ['domain', 'async', 'host', 'api'] },
  pages: { may: ['domain', 'api'] },
  cli: { may: ['domain', 'api', 'launcher', 'pages'], face: [] },
  web: { may: ['domain', 'api'], face: [] },
  daemon: {
    may: [
      ...[...basis, 'install', 'document', 'workflow', 'operations', 'disk', 'oci', 'inventory'],
      ...['image-store', 'build', 'kube', 'database', 'api', 'launcher', 'pages', 'cloud'],
      ...['providers/local', 'providers/sim', 'providers/azure', 'providers/registry'],
    ],
    face: [],
  },
};

const test = '\\.test\\.tsx?$';

function inRooms(names: readonly string[]): string {
  return `^src/(${names.join('|')})/`;
}

function rule(
  name: string,
  comment: string,
  from: IRegularForbiddenRuleType['from'],
  to: IRegularForbiddenRuleType['to'],
): IRegularForbiddenRuleType {
  return { name: name.replace('/', '-'), comment, severity: 'error', from, to };
}

function roomRules([room, { may, face, uses }]: [string, Room]): IForbiddenRuleType[] {
  const own = `^src/${room}/`;
  const only = may.length === 0 ? 'no other room' : `only ${may.join(', ')}`;
  const rules = [
    rule(
      `layer-${room}`,
      `${room} imports ${only}, not even types of others.`,
      { path: own },
      {
        path: '^src/',
        pathNot: inRooms([room, ...may]),
      },
    ),
  ];
  if (face !== undefined) {
    const open = face.map((file) => `${own}${file}\\.ts$`);
    rules.push(
      rule(
        `face-${room}`,
        `Other rooms import only the public face of ${room}: see scripts/layers.ts.`,
        { path: '^src/', pathNot: own },
        { path: own, pathNot: open },
      ),
    );
  }
  if (uses !== undefined) {
    const allowed = uses === 'types' ? { dependencyTypesNot: ['type-only' as const] } : {};
    const packages = uses === 'types' ? [] : uses.map((name) => `node_modules/${name}/`);
    rules.push(
      rule(
        `builtins-${room}`,
        `${room} uses no modules of Node.`,
        { path: own },
        {
          dependencyTypes: ['core'],
          ...allowed,
        },
      ),
      rule(
        `packages-${room}`,
        `${room} uses no packages but ${uses}.`,
        { path: own },
        {
          path: 'node_modules/',
          pathNot: packages,
          ...allowed,
        },
      ),
    );
  }
  return rules;
}

export const rules: readonly IForbiddenRuleType[] = [
  ...Object.entries(rooms).flatMap(roomRules),
  rule(
    'known-room',
    'Every directory of src is in the table of rooms.',
    {
      path: '^src/',
      pathNot: inRooms(Object.keys(rooms)),
    },
    {},
  ),
  rule('no-cycles', 'No file needs itself, not even for types.', { path: '^src/' }, { circular: true }),
  {
    name: 'no-directory-cycles',
    comment: 'No room and no subject needs itself by way of another, not even for types.',
    severity: 'error',
    scope: 'folder',
    from: { path: '^src/' },
    to: { circular: true },
  },
  {
    name: 'agent-without-zod',
    comment: 'The agent must stay small: it checks node configs with its own tables, not with zod.',
    severity: 'error',
    from: { path: '^src/agent/main\\.ts$' },
    to: { path: 'node_modules/zod/', reachable: true },
  },
  rule(
    'public-interfaces',
    'Nothing depends on the internals of DBOS.',
    { path: '^src/' },
    {
      path: '@dbos-inc/dbos-sdk/dist/src/',
      pathNot: 'dbos-sdk/dist/src/(index|datasource|eventreceiver)\\.',
    },
  ),
  rule(
    'src-stands-alone',
    'Source imports neither tests nor scripts.',
    { path: '^src/' },
    {
      path: `^(test|scripts)/|${test}`,
    },
  ),
  rule(
    'shipped-packages',
    'Packages that src loads are installed with Imago; only types can come from development packages.',
    { path: '^src/' },
    { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
  ),
  rule('resolvable', 'Every import names a file that exists.', { path: '^src/' }, { couldNotResolve: true }),
  rule(
    'no-orphans',
    'A file that nothing loads is dead, except programs and workers.',
    { orphan: true, path: '^src/', pathNot: ['/main\\.ts$', '/store-worker\\.ts$'] },
    {},
  ),
];
