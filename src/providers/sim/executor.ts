// Runs the cloud in virtual time: every piece of work ends at a time that is known when it starts.
import { type Executor, sha256 } from '../../cloud/state/cloud.ts';
import { userDataOf } from '../../cloud/state/machine-rows.ts';
import type { DiskContent, MachineRow, SnapshotRow } from '../../cloud/state/rows.ts';
import type { World } from '../../cloud/state/state-file.ts';
import { busy } from '../../domain/error/refusals.ts';
import { splitWords } from '../../domain/node-config/words.ts';
import type { CapturedDisk } from '../../ports/provider/disks.ts';
import type { AllowedChange } from '../../ports/provider/node-configs.ts';
import { consoleOf, healthOf, reportOf } from './machine/boot.ts';
import { answerJob, dropJobs } from './machine/guest-jobs.ts';
import { giveDisk, powerOf, switchPower } from './machine/imaging.ts';
import { inForce, nodeReport } from './machine/node-report.ts';
import { answerScript } from './machine/run-command.ts';
import { answerWindows } from './machine/windows-guest.ts';
import { endOf, type SimTiming } from './world/context.ts';
import { readTraits } from './world/traits.ts';
import type { WindowsGuest } from './world/windows-state.ts';

/** Writes the disk of a scripted Windows to a file, and has it judged as a real one is. */
export type WriteWindows = (
  guest: WindowsGuest,
  seal: (path: string) => Promise<CapturedDisk>,
) => Promise<CapturedDisk>;

export function createVirtualExecutor(timing: SimTiming, writeWindows?: WriteWindows): Executor {
  const { world } = timing;
  return {
    endOf: (kind, name, bend) => endOf(timing, kind, name, bend),
    findDisk: async (diskDigest) => findSealed(world, 'diskDigest', diskDigest),
    workOnVersion: () => undefined,
    readDigest: async ({ diskDigest }) => diskDigest ?? '',
    galleryLimits: async () => [],

    captureDisk: (machine) => captureDisk(world, machine),
    workOnSnapshot: () => undefined,
    async sealSnapshot(snapshot, image, seal) {
      const { guest } = readTraits(snapshot.traits);
      if (guest !== undefined) await writeWindows?.(guest, seal);
      return world.transaction(() => sealSnapshot(world, snapshot, image));
    },

    findSealed: async (digest) => findSealed(world, 'digest', digest),
    machineIds: (kind) => machineIds(world, kind),
    checkSize: () => undefined,
    requireRoom: () => undefined,
    giveDisk: (machine, imaging) => giveDisk(timing, machine, imaging),
    applyModel: () => ({}),
    switchPower: (machine, to, bend) => switchPower(timing, machine, to, bend),
    power: (machine) => powerOf(machine, world.time()),
    observe: (machine) => ({ health: healthOf(timing, machine) }),
    report: (machine) => reportOf(timing, machine),
    nodeReport: (machine) => nodeReport(timing, machine),
    console: async (machine, lines) => world.transaction(() => consoleOf(timing, machine)).slice(-lines),
    async runCommand(machine, { script }) {
      const listens = world.transaction(
        () => powerOf(machine, world.time()) === 'running' && reportOf(timing, machine) !== undefined,
      );
      if (!listens) throw busy(`Machine ${machine.name} does not listen to commands.`);
      const answer = world.transaction(
        () => answerWindows(world, machine, script) ?? answerJob(world, machine, script),
      );
      if (answer !== undefined) return answer;
      return answerScript(script, { hostname: machine.name, machineId: machine.machineId });
    },
    // Other words with the same config take effect immediately, and start nothing.
    setUserData(node, userData) {
      const before = splitWords(userDataOf(world, node)).config;
      if (splitWords(userData).config === before) return {};
      return { userDataBefore: inForce(timing, node), userDataAt: world.time() };
    },
    allowChange: async (node, change) => world.transaction(() => allowChange(timing, node, change)),
    workOnMachines: (machineIds) => world.transaction(() => dropJobs(world, machineIds)),
  };
}

function findSealed(world: World, by: 'digest' | 'diskDigest', value: string): DiskContent | undefined {
  return world.get<DiskContent>(
    `SELECT digest, diskDigest, diskBytes, traits FROM sealedDisk WHERE ${by} = ? LIMIT 1`,
    value,
  );
}

/** Two snapshots of a disk that nothing writes to have the same content; two of a running one have not. */
function captureDisk(world: World, machine: MachineRow): DiskContent {
  const { machineId, diskBytes, traits, imagedAt, powerSince } = machine;
  const now = world.time();
  const writtenAt = powerOf(machine, now) === 'stopped' ? powerSince : now;
  const diskDigest = `sha256:${sha256('disk', machineId, imagedAt, writtenAt)}`;
  return { digest: null, diskDigest, diskBytes, traits };
}

/** The same snapshot gives the same disk. */
function sealSnapshot(
  world: World,
  { diskDigest, diskBytes, traits }: SnapshotRow,
  image: string,
): CapturedDisk {
  const key = sha256('captured', image, diskDigest ?? '');
  const digest = `sha256:${sha256(key, 'manifest')}`;
  const clean = `sha256:${sha256(key, 'disk')}`;
  const sizeBytes = diskBytes ?? 0;
  world.run(
    'INSERT OR IGNORE INTO sealedDisk VALUES (?, ?, ?, ?, ?, ?)',
    ...[key, digest, clean, sizeBytes, traits, world.time()],
  );
  return { digest, diskDigest: clean, sizeBytes, cleaned: 0, files: 0 };
}

/** Ids have the shape that clouds give them. They follow from the seed, the name and a number used only once. */
function machineIds(world: World, kind: string): (name: string) => string {
  const serial = Number(world.fact('serial') ?? 0) + 1;
  world.setFact('serial', String(serial));
  const seed = world.fact('seed') ?? '';
  return (name) => {
    const hex = sha256(seed, kind, name, serial);
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  };
}

/** A config that the agent has nothing more to ask about is active as soon as it is applied. */
function allowChange(timing: SimTiming, { machineId }: MachineRow, { cost, digest }: AllowedChange): void {
  const { world } = timing;
  const node = world.get<MachineRow>('SELECT * FROM machine WHERE machineId = ?', machineId);
  const waiting = node && nodeReport(timing, node)?.waiting;
  if (waiting?.digest !== digest || waiting.for !== cost) return;
  world.update('machine', { machineId }, { userDataBefore: node?.userData, userDataAt: world.time() });
}
