// Makes docs/architecture.md: the text is written by hand, and the table of rooms comes from scripts/layers.ts. Fails if the
// page names a file that does not exist, so that it cannot drift from the tree.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { rooms } from './layers.ts';

const root = path.join(import.meta.dirname, '..');
const [start, end] = ['<!-- rooms -->\n', '<!-- /rooms -->\n'];

const purposes: Readonly<Record<string, string>> = {
  domain: 'rules, records, and declarations of operations; no input or output',
  ports: 'interfaces that other rooms implement',
  async: 'limits, retries, deadlines, and queues',
  host: 'processes, files, tools, and networks of the host',
  document: 'YAML with line and column',
  install: 'puts a component on a system, in a build and on a node',
  agent: 'the program on a node that applies its config',
  workflow: 'runs operations durably: interpreter and engine',
  operations: 'the steps of every kind of operation, and what the active daemon repeats',
  disk: 'disk formats: ext4, FAT, GPT, VHD, qcow2, tar',
  oci: 'the local store of disks as an OCI layout, registries, signatures',
  inventory: 'contents of a disk: packages, SBOM, release notes, differences',
  'image-store': 'implements the image store over oci, inventory, and disk',
  build: 'locks recipes and builds disks in layers',
  cloud: 'the model of galleries, pools, machines, and disks',
  inspect: 'the program that reads a disk file, without daemon and state',
  'azure-emulator': 'an Azure API over the cloud model, for tests',
  'providers/local': 'QEMU machines on this host',
  'providers/sim': 'virtual time and injected faults',
  'providers/azure': 'Azure',
  'providers/registry': 'galleries in OCI registries',
  kube: 'the Kubernetes API: cordon, drain, watch',
  database: 'PostgreSQL: records, lease, migrations, backup',
  api: 'contract, schemas, typed client, OpenAPI',
  launcher: 'finds, starts, and stops the local daemon',
  pages: 'static HTML of the public catalog',
  cli: 'parses arguments, calls the API, prints',
  web: 'the dashboard',
  daemon: 'serves the API and connects the rooms',
};

export function architecturePage(file = path.join(root, 'docs', 'architecture.md')): string {
  const [before = '', rest = ''] = readFileSync(file, 'utf8').split(start);
  const page = `${before}${start}${roomTable()}${end}${rest.split(end)[1] ?? ''}`;
  const missing = namedPaths(page).filter((name) => !existsSync(path.join(root, name)));
  if (missing.length === 0) return page;
  throw new Error(`the page names ${missing.join(', ')}, which does not exist`);
}

function roomTable(): string {
  const rows = Object.entries(rooms).map(([name, { may, face }]) => {
    const purpose = purposes[name];
    if (purpose === undefined)
      throw new Error(`scripts/architecture-page.ts does not describe the room ${name}`);
    const isPlanned = !existsSync(path.join(root, 'src', name));
    const imports = may.length === 0 ? 'nothing' : may.map((room) => `\`${room}\``).join(', ');
    const open = face === undefined ? 'all files' : face.length === 0 ? 'none' : 'its public face';
    return `| \`${name}\`${isPlanned ? ' (planned)' : ''} | ${purpose} | ${imports} | ${open} |\n`;
  });
  return `\n| room | purpose | can import | open to other rooms |\n|---|---|---|---|\n${rows.join('')}\n`;
}

/** Returns the files and directories that a page names in code spans. A brace group names several. */
export function namedPaths(page: string): readonly string[] {
  const spans = [...page.matchAll(/`((?:src|test|scripts|docs)\/[\w./{},-]+)`/g)];
  return spans.flatMap(([, name = '']) => {
    const [, head = '', group, tail = ''] = /^([^{]*)\{([^}]*)\}(.*)$/.exec(name) ?? [];
    return group === undefined ? [name] : group.split(',').map((part) => `${head}${part}${tail}`);
  });
}
