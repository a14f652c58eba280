// Lays out a FAT32 file system whose content is known beforehand: the EFI system partition. Every file
// is contiguous and begins on a page, every time is given, and the same input gives the same bytes.
import { ImagoError } from '../../domain/error/imago-error.ts';

export interface FatFile {
  /** Upper-case 8.3 names with slashes, such as EFI/BOOT/BOOTX64.EFI. */
  readonly path: string;
  readonly content: Uint8Array;
}

export interface FatInput {
  readonly size: number;
  /** Where the partition begins on its disk, in sectors. */
  readonly firstSector: number;
  readonly volumeId: number;
  /** At most 11 upper-case characters. */
  readonly label: string;
  /** Seconds since 1970; FAT knows nothing before 1980. */
  readonly epoch: number;
  readonly files: readonly FatFile[];
}

export interface FatPiece {
  /** From the start of the partition. */
  readonly offset: number;
  readonly bytes: Uint8Array;
}

interface Node {
  readonly name: string;
  readonly content: Uint8Array | undefined;
  readonly children: Node[];
  cluster: number;
  clusters: number;
}

const sector = 512;
const pageSectors = 8;
const endOfChain = 0x0fff_ffff;

function refuse(message: string): ImagoError {
  return new ImagoError('disk-layout-invalid', message);
}

/** The parts of the file system that are not zero. Throws `disk-layout-invalid` when the files do not fit. */
export function layOutFat(input: FatInput): FatPiece[] {
  const sectors = Math.floor(input.size / sector);
  const clusterSectors = sectors > 512 * 1024 ? pageSectors : 1;
  const fatSectors = Math.ceil((sectors / clusterSectors + 2) / (sector / 4 + 2 / clusterSectors));
  const dataStart = Math.ceil((32 + 2 * fatSectors) / pageSectors) * pageSectors;
  const reservedSectors = dataStart - 2 * fatSectors;
  const clusters = Math.floor((sectors - dataStart) / clusterSectors);
  if (clusters < 65_525) throw refuse(`a FAT32 file system needs more than ${input.size} bytes`);
  const clusterSize = clusterSectors * sector;
  const pageClusters = pageSectors / clusterSectors;

  const root = makeTree(input.files);
  let next = 2;
  let used = 0;
  for (const node of nodes(root)) {
    const length = node.content?.length ?? directoryLength(node, node === root);
    node.clusters = Math.ceil(length / clusterSize);
    node.cluster = node.clusters === 0 ? 0 : next;
    used += node.clusters;
    next += Math.ceil(node.clusters / pageClusters) * pageClusters;
  }
  if (next - 2 > clusters) {
    throw refuse(
      `the boot files need ${(next - 2) * clusterSize} bytes, and the partition has ${clusters * clusterSize}`,
    );
  }

  const table = Buffer.alloc(fatSectors * sector);
  table.writeUInt32LE(0x0fff_fff8, 0);
  table.writeUInt32LE(endOfChain, 4);
  const pieces: FatPiece[] = [];
  for (const node of nodes(root)) {
    const end = node.cluster + node.clusters;
    for (let at = node.cluster; at < end; at++)
      table.writeUInt32LE(at + 1 === end ? endOfChain : at + 1, at * 4);
    const bytes =
      node.content ?? encodeDirectory(node, node === root ? undefined : parentOf(root, node), root, input);
    pieces.push({ offset: dataStart * sector + (node.cluster - 2) * clusterSize, bytes });
  }
  const bootSector = encodeBootSector(input, { sectors, clusterSectors, fatSectors, reservedSectors });
  const info = encodeInfo(clusters - used, next);
  return [
    { offset: 0, bytes: Buffer.concat([bootSector, info]) },
    { offset: 6 * sector, bytes: Buffer.concat([bootSector, info]) },
    { offset: reservedSectors * sector, bytes: Buffer.concat([table, table]) },
    ...pieces.filter(({ bytes }) => bytes.length > 0),
  ];
}

function makeTree(files: readonly FatFile[]): Node {
  const root: Node = { name: '', content: undefined, children: [], cluster: 0, clusters: 0 };
  for (const { path, content } of files) {
    const names = path.split('/');
    let folder = root;
    for (const [index, name] of names.entries()) {
      if (!/^[A-Z0-9_-]{1,8}(\.[A-Z0-9_-]{1,3})?$/.test(name)) throw refuse(`${path} is not an 8.3 name`);
      const last = index === names.length - 1;
      let node = folder.children.find((child) => child.name === name);
      if (node !== undefined && (last || node.content !== undefined)) throw refuse(`${path} is there twice`);
      node ??= { name, content: last ? content : undefined, children: [], cluster: 0, clusters: 0 };
      if (!folder.children.includes(node)) folder.children.push(node);
      folder = node;
    }
  }
  return root;
}

function* nodes(node: Node): Generator<Node> {
  yield node;
  for (const child of node.children) yield* nodes(child);
}

function parentOf(root: Node, node: Node): Node {
  return [...nodes(root)].find((candidate) => candidate.children.includes(node)) ?? root;
}

function directoryLength(node: Node, isRoot: boolean): number {
  return 32 * (node.children.length + (isRoot ? 1 : 2));
}

function shortName(name: string): string {
  const [base = '', extension = ''] = name.split('.');
  return base.padEnd(8) + extension.padEnd(3);
}

function dosTime(epoch: number): { date: number; time: number } {
  const when = new Date(Math.max(epoch, 315_532_800) * 1000);
  return {
    date: ((when.getUTCFullYear() - 1980) << 9) | ((when.getUTCMonth() + 1) << 5) | when.getUTCDate(),
    time: (when.getUTCHours() << 11) | (when.getUTCMinutes() << 5) | (when.getUTCSeconds() >> 1),
  };
}

function encodeEntry(name: string, attributes: number, cluster: number, size: number, epoch: number): Buffer {
  const entry = Buffer.alloc(32);
  const { date, time } = dosTime(epoch);
  entry.write(name, 0, 'latin1');
  entry.writeUInt8(attributes, 11);
  entry.writeUInt16LE(time, 14);
  entry.writeUInt16LE(date, 16);
  entry.writeUInt16LE(date, 18);
  entry.writeUInt16LE(cluster >>> 16, 20);
  entry.writeUInt16LE(time, 22);
  entry.writeUInt16LE(date, 24);
  entry.writeUInt16LE(cluster & 0xffff, 26);
  entry.writeUInt32LE(size, 28);
  return entry;
}

function encodeDirectory(node: Node, parent: Node | undefined, root: Node, input: FatInput): Buffer {
  const own =
    parent === undefined
      ? [encodeEntry(input.label.padEnd(11), 0x08, 0, 0, input.epoch)]
      : [
          encodeEntry('.'.padEnd(11), 0x10, node.cluster, 0, input.epoch),
          encodeEntry('..'.padEnd(11), 0x10, parent === root ? 0 : parent.cluster, 0, input.epoch),
        ];
  const entries = node.children.map((child) =>
    child.content === undefined
      ? encodeEntry(shortName(child.name), 0x10, child.cluster, 0, input.epoch)
      : encodeEntry(shortName(child.name), 0x20, child.cluster, child.content.length, input.epoch),
  );
  return Buffer.concat([...own, ...entries]);
}

interface Geometry {
  readonly sectors: number;
  readonly clusterSectors: number;
  readonly fatSectors: number;
  readonly reservedSectors: number;
}

function encodeBootSector(input: FatInput, geometry: Geometry): Buffer {
  const { sectors, clusterSectors, fatSectors, reservedSectors } = geometry;
  const bytes = Buffer.alloc(sector);
  bytes.set([0xeb, 0x58, 0x90], 0);
  bytes.write('IMAGO   ', 3, 'latin1');
  bytes.writeUInt16LE(sector, 11);
  bytes.writeUInt8(clusterSectors, 13);
  bytes.writeUInt16LE(reservedSectors, 14);
  bytes.writeUInt8(2, 16);
  bytes.writeUInt8(0xf8, 21);
  bytes.writeUInt16LE(63, 24);
  bytes.writeUInt16LE(255, 26);
  bytes.writeUInt32LE(input.firstSector, 28);
  bytes.writeUInt32LE(sectors, 32);
  bytes.writeUInt32LE(fatSectors, 36);
  bytes.writeUInt32LE(2, 44);
  bytes.writeUInt16LE(1, 48);
  bytes.writeUInt16LE(6, 50);
  bytes.writeUInt8(0x80, 64);
  bytes.writeUInt8(0x29, 66);
  bytes.writeUInt32LE(input.volumeId >>> 0, 67);
  bytes.write(input.label.padEnd(11), 71, 'latin1');
  bytes.write('FAT32   ', 82, 'latin1');
  bytes.writeUInt16LE(0xaa55, 510);
  return bytes;
}

function encodeInfo(free: number, next: number): Buffer {
  const bytes = Buffer.alloc(sector);
  bytes.write('RRaA', 0, 'latin1');
  bytes.write('rrAa', 484, 'latin1');
  bytes.writeUInt32LE(free, 488);
  bytes.writeUInt32LE(next, 492);
  bytes.writeUInt16LE(0xaa55, 510);
  return bytes;
}
